"""The HTML page of `pyspark-pulsar segments`: ledgers along time."""
