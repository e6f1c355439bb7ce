"""Tools beside the connector: the command, the local server, doctor, sizing, failover, monitoring."""
