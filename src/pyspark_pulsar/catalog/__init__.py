"""The Spark catalog for Pulsar: the process that the JVM's half of it asks, one JSON document a line.

Spark can have a catalog only on the JVM. That half (`jvm/`) decides nothing: it starts
`python -m pyspark_pulsar.catalog`, and puts every question to it (`service`).
"""
