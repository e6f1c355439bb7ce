"""Clients of a cluster: brokers, the admin REST API, bookies, tiered storage. Nothing else speaks to a cluster.

`standalone`, which starts a server for development, is apart from it.
"""
