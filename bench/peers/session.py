"""A Spark session that runs one job for each line of JSON on standard input, and answers with its measures in JSON.

This module runs on the PySpark version of each connector. Only the start of the session depends on the connector.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from latency_query import measure_latency
from pyspark.sql import DataFrame, SparkSession

Job = dict[str, Any]
Answer = dict[str, Any]


class Session:
    def __init__(self) -> None:
        self._spark: SparkSession | None = None

    @property
    def spark(self) -> SparkSession:
        assert self._spark is not None
        return self._spark

    def start(self, job: Job) -> Answer:
        """Start a session with the connector in `jars`; `catalog` has the URLs for a session of this package."""
        builder = SparkSession.builder.master("local[2]").config("spark.jars", job["jars"])
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "2g",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.numRecentProgressUpdates": "100000",
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        if "catalog" in job:
            from pyspark_pulsar import configure

            builder = configure(builder, *job["catalog"])
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        if "catalog" in job:
            from ready_rows import ReadyRows

            self._spark.dataSource.register(ReadyRows)
        self._spark.range(10).selectExpr("sum(id)").collect()
        return {"version": self._spark.version}

    def fill(self, job: Job) -> Answer:
        """Write rows to a topic with this package's own sink, in batches of 1000, LZ4."""
        numbers = self.spark.range(0, job["rows"], 1, 4).selectExpr(f"id % {job['period']} AS n")
        numbers.selectExpr(*job["columns"]).write.format("pulsar").options(**job["options"]).mode(
            "append"
        ).save()
        return {"rows": job["rows"]}

    def store(self, job: Job) -> Answer:
        self.spark.read.format(job["format"]).options(**job["options"]).load().write.parquet(job["folder"])
        return {}

    def query(self, job: Job) -> Answer:
        """Run a query with one row as its answer over the view `messages` of the source."""
        self._loaded(job).createOrReplaceTempView("messages")
        (row,) = self.spark.sql(job["query"]).collect()
        return {"answer": row.asDict(), "rows": row["rows"]}

    def noop(self, job: Job) -> Answer:
        self._loaded(job).write.format("noop").mode("overwrite").save()
        return {}

    def _loaded(self, job: Job) -> DataFrame:
        reader = self.spark.read.format(job["format"]).options(**job["options"])
        return reader.load(*job.get("paths", []))

    def catch_up(self, job: Job) -> Answer:
        """Read all messages with Trigger.AvailableNow into the noop sink.

        `trigger_seconds` exclude the start of the query. With `observed` the rows are also summed up, which costs extra
        time.
        """
        frame = self.spark.readStream.format(job["format"]).options(**job["options"]).load()
        frame = frame.select(*job["columns"])
        if "observed" in job:
            first, *others = [_expression(each) for each in job["observed"]]
            frame = frame.observe("sums", first, *others)
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
            progress = [json.loads(each.json()) for each in query._jsq.recentProgress()]  # noqa: SLF001 - equal in both
        answer = {
            "rows": sum(each["numInputRows"] for each in progress),
            "trigger_seconds": sum(each["durationMs"]["triggerExecution"] for each in progress) / 1000,
            "micro_batches": len([each for each in progress if each["numInputRows"]]),
        }
        if "observed" in job:
            sums = [each["observedMetrics"]["sums"] for each in progress if each["numInputRows"]]
            assert len(sums) == 1, f"expected one micro-batch, got {len(sums)}"
            answer["answer"] = sums[0]
        return answer

    def latency(self, job: Job) -> Answer:
        return measure_latency(self.spark, job)


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


def main() -> None:
    session = Session()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Other output is not an answer.
    for line in sys.stdin:
        job = json.loads(line)
        action: Callable[[Job], Answer] = getattr(session, job["do"].replace(" ", "_"))
        started = time.perf_counter()
        answer = action(job)
        answer.setdefault("seconds", time.perf_counter() - started)
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
