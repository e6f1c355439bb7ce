"""A client for brokers over Pulsar's binary protocol: connections, lookups, consumers, producers, transactions."""
