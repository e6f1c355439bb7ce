"""The Spark catalog for Pulsar, which runs in a separate Python process.

Spark accepts only catalogs that run in the JVM. The jar (`jvm/`) therefore contains a catalog class. The class starts
the process `python -m pyspark_pulsar.catalog`, and sends every call to this process (`process.service`).
"""
