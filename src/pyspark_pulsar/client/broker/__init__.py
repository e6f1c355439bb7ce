"""Brokers, over Pulsar's binary protocol: connections, lookups, consumers, producers, transactions."""
