"""Connections to bookies: BookKeeper's protocol, TLS and authentication."""
