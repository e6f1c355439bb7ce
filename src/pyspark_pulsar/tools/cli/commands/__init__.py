"""The commands of `pyspark-pulsar`, a module for each."""
