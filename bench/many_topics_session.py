"""A Spark session that runs one job for each line of JSON on standard input. See bench/many_topics.py."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from process_use import cpu_seconds, processes_below
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_pulsar import configure
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch

Job = dict[str, Any]


class Session:
    def __init__(self) -> None:
        self._spark: SparkSession | None = None
        self._query: StreamingQuery | None = None
        self._folder = ""

    def do(self, job: Job) -> dict[str, float]:
        """Run a job, and return the job's wall seconds and further figures."""
        action = getattr(self, job["do"].replace(" ", "_").replace("-", "_"))
        before = time.perf_counter()
        answer = action(job) or {}
        return {"seconds": time.perf_counter() - before, **answer}

    @property
    def spark(self) -> SparkSession:
        assert self._spark is not None
        return self._spark

    @property
    def query(self) -> StreamingQuery:
        assert self._query is not None
        return self._query

    def start(self, job: Job) -> None:
        self._folder = job["folder"]
        options = job["options"]
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = configure(builder, options["service.url"], options["admin.url"])
        self._spark = builder.config("spark.driver.memory", "2g").getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        self._spark.range(10).selectExpr("sum(id)").collect()

    def plan(self, job: Job) -> dict[str, float]:
        """Plan a batch like Spark's planning process."""
        cpu = time.process_time()
        plan = plan_batch(parse_options(ReadOptions, job["options"]))
        return {
            "driver_cpu": time.process_time() - cpu,
            "tasks": len(plan.tasks),
            "splits": len(plan.splits),
        }

    def batch(self, job: Job) -> dict[str, float]:
        frame = self.spark.read.format("pulsar").options(**job["options"]).load()
        return {"rows": frame.select("value").count()}

    def first_trigger(self, job: Job) -> None:
        """Run a query until it knows the ends of all topics."""
        self._query = self._started(job)
        self.query.processAllAvailable()
        self.query.stop()

    def _started(self, job: Job) -> StreamingQuery:
        return (
            self.spark.readStream.format("pulsar")
            .options(**job["options"])
            .load()
            .select("value")
            .writeStream.format("noop")
            .option("checkpointLocation", f"{self._folder}/checkpoint")
            .start()
        )

    def micro_batch(self, job: Job) -> dict[str, float]:
        """Read all new rows in one micro-batch. No query runs while the rows are sent."""
        self._query = self._started(job)
        self.query.processAllAvailable()
        self.query.stop()
        rows = sum(progress.numInputRows for progress in self.query.recentProgress)
        assert rows == job["rows"], f"expected {job['rows']} rows, got {rows}"
        (batch,) = [progress for progress in self.query.recentProgress if progress.numInputRows]
        return {"rows": rows, "batch_seconds": batch.batchDuration / 1000}

    def memory(self, job: Job) -> dict[str, float]:
        """Measure memory after a garbage collection of the JVM, during a query that has just read all topics."""
        query = self._started(job)
        query.processAllAvailable()
        runtime = self.spark._jvm.java.lang.Runtime.getRuntime()  # noqa: SLF001 - there is no other way
        runtime.gc()
        used = (runtime.totalMemory() - runtime.freeMemory()) / 2**20
        processes = processes_below(os.getpid(), job["port"])
        query.stop()
        by_name = {name: [one for one in processes if one["name"] == name] for name in ("java", "python")}
        return {
            "jvm_heap_mebibytes": used,
            "jvm_mebibytes": max(float(one["mebibytes"]) for one in by_name["java"]),
            "python_processes": len(by_name["python"]),
            "python_mebibytes": sum(float(one["mebibytes"]) for one in by_name["python"]),
            "largest_python_mebibytes": max(float(one["mebibytes"]) for one in by_name["python"]),
            "connections": sum(float(one["connections"]) for one in processes),
        }

    def catalog(self, _: Job) -> dict[str, float]:
        """List the namespaces, then the tables of one namespace and of all namespaces, and describe one table."""
        namespaces = [row[0] for row in self.spark.sql("SHOW NAMESPACES IN pulsar").collect()]
        of_topics = sorted(name for name in namespaces if "many-" in name)
        began = time.perf_counter()
        tables = self._tables(of_topics[0])
        one = time.perf_counter() - began
        self.spark.sql(f"DESCRIBE EXTENDED pulsar.{of_topics[0]}.{tables[0]}").collect()
        began = time.perf_counter()
        count = sum(len(self._tables(name)) for name in of_topics)
        return {
            "namespaces": len(of_topics),
            "tables": count,
            "one_namespace_seconds": one,
            "all_namespaces_seconds": time.perf_counter() - began,
        }

    def _tables(self, namespace: str) -> list[str]:
        return [row.tableName for row in self.spark.sql(f"SHOW TABLES IN pulsar.{namespace}").collect()]

    def idle(self, job: Job) -> dict[str, float]:
        """Measure after the first trigger, while the query runs.

        The query's processes end with the query, so their use cannot be measured later.
        """
        query = self._started(job)
        query.processAllAvailable()
        before = cpu_seconds(os.getpid())
        time.sleep(job["seconds"])
        used = cpu_seconds(os.getpid()) - before
        query.stop()
        return {"client_cpu": used, "asked_seconds": job["seconds"]}

    def sink(self, job: Job) -> None:
        topics = job["topics"]
        namespaces = len({topic.rpartition("/")[0] for topic in topics})
        number = f"id % {len(topics)}"
        rows = self.spark.range(0, job["rows"], 1, 2).selectExpr(
            f"format_string('persistent://public/many-%02d/t%04d', {number} % {namespaces}, {number}) AS __topic",
            "cast(cast(id as string) as binary) AS value",
        )
        told = {"service.url": job["options"]["service.url"], "admin.url": job["options"]["admin.url"]}
        rows.write.format("pulsar").mode("append").options(**told).save()


def main() -> None:
    session = Session()
    for line in sys.stdin:
        print(json.dumps(session.do(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
