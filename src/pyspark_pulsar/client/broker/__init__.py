"""Brokers, over Pulsar's binary protocol: one connection, and what is asked over it."""
