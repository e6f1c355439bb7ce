"""The HTML page of `pyspark-pulsar segments`, which shows ledgers on a time axis."""
