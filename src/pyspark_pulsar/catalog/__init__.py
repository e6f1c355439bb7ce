"""The Spark catalog for Pulsar, which runs in a process of its own.

Spark accepts catalogs on the JVM only. The jar's half (`jvm/`) decides nothing: it starts
`python -m pyspark_pulsar.catalog` and sends every call to that process (`process.service`).
"""
