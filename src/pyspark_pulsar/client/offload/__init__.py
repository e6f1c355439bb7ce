"""Tiered storage: where offloaded ledgers lie, and the bytes of their objects."""
