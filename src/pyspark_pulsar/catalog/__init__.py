"""The Spark catalog for Pulsar, which runs in a separate Python process.

Spark accepts only catalogs that run in the JVM. So the jar (`jvm/`) contains a catalog that forwards every call. It
starts `python -m pyspark_pulsar.catalog`, and sends each call to this process (`process.service`).
"""
