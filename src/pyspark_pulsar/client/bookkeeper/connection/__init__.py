"""Connections to bookies: BookKeeper's binary protocol, TLS, authentication and addresses."""
