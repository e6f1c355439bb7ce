"""Clients of a Pulsar cluster: brokers, the admin REST API, bookies and tiered storage.

No other package communicates with a cluster, except `standalone`, which starts a server for development.
"""
