"""The jar works with all supported versions of Spark: each version has the classes to which the jar refers."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyspark
from fixtures.class_files import ClassPath, Reference, parsed

from pyspark_pulsar.session.configure import catalog_jar
from pyspark_pulsar.spark.read_limits import SPARK_ASKS_FOR_LIMITS

CATALOG = "org/apache/spark/sql/connector/catalog"
# These references are never resolved by the JVM: Spark 4.1 does not call the method, nor anything that only
# the method uses.
CHANGES = ("org/pysparkpulsar/catalog/PulsarChangelog",)


def test_spark_has_all_that_the_jar_refers_to() -> None:
    spark = ClassPath([*sorted(Path(pyspark.__path__[0], "jars").glob("*.jar")), catalog_jar()])
    lacking: set[Reference] = set()
    with zipfile.ZipFile(catalog_jar()) as jar:
        classes = [parsed(jar.read(name)) for name in jar.namelist() if name.endswith(".class")]
    assert len(classes) > 80
    for each in classes:
        if SPARK_ASKS_FOR_LIMITS or not each.name.startswith(CHANGES):
            lacking |= {reference for reference in each.references if spark.lacks(reference)}
    assert sorted(str(reference) for reference in lacking) == []
