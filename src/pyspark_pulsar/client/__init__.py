"""The only folder with sockets: brokers over Pulsar's binary protocol."""
