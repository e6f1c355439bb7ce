"""Tiered storage: the locations of offloaded ledgers, and the bytes of their objects."""
