"""Readers that run longer than their task read no freed memory, and no value of another batch."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from pyspark_pulsar.session.configure import EXTENSIONS_CLASS, catalog_jar
from pyspark_pulsar.tools.standalone import LocalPulsar

_PROGRAM = Path(__file__).parents[2] / "java" / "spark" / "LateReaders.java"
_ROWS, _ROUNDS = 10_000, 2


def test_threads_may_read_batches_after_their_task(
    spark: SparkSession, pulsar: LocalPulsar, topic: str, tmp_path: Path
) -> None:
    """The program would read rows of other batches, or the JVM would end, if a batch were Arrow's memory."""
    rows = spark.range(_ROWS).repartition(2).selectExpr("id", "repeat(cast(id as string), 200) as text")
    writer = rows.write.format("pulsar").mode("append").option("service.url", pulsar.service_url)
    writer.option("topic", topic).save()

    home = Path(pyspark.__file__).parent
    subprocess.run(
        ["javac", "-nowarn", "-d", tmp_path, "-cp", f"{home}/jars/*", _PROGRAM], check=True, timeout=120
    )
    jar = tmp_path / "late-readers.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for each in tmp_path.glob("*.class"):
            archive.write(each, each.name)
    done = subprocess.run(
        [
            sys.executable, home / "bin" / "spark-submit", "--master", "local[2]", "--class", "LateReaders",
            "--driver-class-path", str(catalog_jar()), "--conf", f"spark.sql.extensions={EXTENSIONS_CLASS}",
            "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.bindAddress=127.0.0.1",
            "--conf", "spark.log.level=ERROR", "--conf", "spark.driver.host=127.0.0.1",
            "--conf", f"spark.pyspark.python={sys.executable}",
            jar, pulsar.service_url, topic, str(_ROUNDS),
        ][1:],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    assert done.stdout.splitlines() == ["ok batches that are held", "ok threads"], done.stdout
