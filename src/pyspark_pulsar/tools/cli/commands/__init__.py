"""The commands of `pyspark-pulsar`, one module for each."""
