"""The commands of `pyspark-pulsar`, with one module for each command."""
