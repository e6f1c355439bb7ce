"""The Spark catalog for Pulsar, which runs in a separate Python process.

Spark accepts only catalogs that run in the JVM. So the jar (`jvm/`) contains a catalog that starts the process `python
-m pyspark_pulsar.catalog`, and sends every call to this process (`process.service`).
"""
