"""One jar serves all versions of Spark that the package takes: each of them has what the jar's classes refer to."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyspark
from fixtures.class_files import ClassPath, Reference, parsed

from pyspark_pulsar.session.configure import catalog_jar
from pyspark_pulsar.spark.read_limits import SPARK_ASKS_FOR_LIMITS

CATALOG = "org/apache/spark/sql/connector/catalog"
# Of these a class refers to more than the JVM looks at: a method that Spark 4.1 never calls, and what only it uses.
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
