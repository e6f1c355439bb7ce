"""`pyspark-pulsar doctor`: what must be there for a query to run, looked at from this machine and from executors."""
