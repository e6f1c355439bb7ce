"""The checks of `pyspark-pulsar doctor`, which run on this machine and on executors."""
