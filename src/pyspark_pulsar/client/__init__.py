"""Clients of a Pulsar cluster: brokers, the admin REST API, bookies and tiered storage.

Only this package and `standalone` communicate with a cluster. `standalone` starts a server for development.
"""
