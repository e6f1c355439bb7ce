"""`pyspark-pulsar doctor`: checks of all that a query needs, from this machine and from executors."""
