"""What `pyspark-pulsar checkpoint` does, without a word on a screen."""
