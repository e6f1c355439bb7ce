"""The actions of the command `pyspark-pulsar checkpoint`, without its output."""
