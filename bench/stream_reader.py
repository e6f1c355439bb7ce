"""A process that reads streams.

The process runs one job for each line of JSON on standard input, and answers with the job's measures in JSON.

Each competitor of bench/streams.py runs in a separate process, so that no measure includes another competitor's start.
"""

import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import pulsar as official
from process_use import own_cpu_seconds
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader, StreamingQuery, StreamingQueryListener
from ready_source import ReadySource

from pyspark_pulsar import configure
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.split_reader import read_split

_LEAST_TRIGGERS = 20
_WAIT_SECONDS = 120.0

Job = dict[str, Any]
Answer = dict[str, Any]


def official_read(job: Job) -> Answer:
    """Run a typical batch_receive loop of the official client. The loop reads each message's data and id."""
    client = official.Client(
        job["service_url"], logger=official.ConsoleLogger(official.LoggerLevel.Error), io_threads=2
    )
    consumer = client.subscribe(
        job["topic"],
        f"bench-{uuid.uuid4().hex}",
        initial_position=official.InitialPosition.Earliest,
        receiver_queue_size=job["queue"],
        batch_receive_policy=official.ConsumerBatchReceivePolicy(10_000, 64 << 20, 100),
    )
    rows = 0
    while rows < job["rows"]:
        for message in consumer.batch_receive():
            message.data(), message.message_id()
            rows += 1
    consumer.unsubscribe()
    client.close()
    return {"rows": rows}


def arrow_read(job: Job) -> Answer:
    """Run the steps of Spark's driver and tasks without Spark, one split after the other."""
    options = ReadOptions(service_url=job["service_url"], topic=job["topic"], columns=tuple(job["columns"]))
    splits = plan_batch(options).splits
    schema = resolve_source_schema(options)
    return {"rows": sum(batch.num_rows for split in splits for batch in read_split(options, schema, split))}


class Idleness(StreamingQueryListener):
    """The start times of a query's triggers without new messages, in milliseconds."""

    def __init__(self) -> None:
        self.triggers: list[float] = []

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        moment = datetime.fromisoformat(event.timestamp)
        self.triggers.append(moment.timestamp() * 1000)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Do nothing."""


class Streams:
    """A Spark session for all jobs. The first job includes the start of the session."""

    def __init__(self) -> None:
        self._made: SparkSession | None = None

    def _session(self, job: Job) -> SparkSession:
        if self._made is None:
            builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            builder = configure(builder, job["service_url"])
            builder = builder.config("spark.ui.showConsoleProgress", "false")
            # Spark reports idle triggers as they happen, instead of every 10 s.
            builder = builder.config("spark.sql.streaming.noDataProgressEventInterval", "1")
            self._made = builder.getOrCreate()
            self._made.sparkContext.setLogLevel("ERROR")
        return self._made

    def _source(self, job: Job) -> DataStreamReader:
        reader = self._session(job).readStream.format("pulsar").option("service.url", job["service_url"])
        return reader.option("topic", job["topic"]).options(**job.get("options", {}))

    def catch_up(self, job: Job) -> Answer:
        """Read all messages with Trigger.AvailableNow into the sink that drops rows.

        `micro_batches` is the time in triggers, without the start of the query. `source` "ready" is a source without
        work.
        """
        if job.get("source") == "ready":
            # Spark's workers cannot import this module.
            cloudpickle.register_pickle_by_value(sys.modules[ReadySource.__module__])
            self._session(job).dataSource.register(ReadySource)
            frame = self._session(job).readStream.format("ready").options(**job["options"]).load()
        else:
            frame = self._source(job).option("startingOffsets", "earliest").load()
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
            progress = query.recentProgress
        return {
            "rows": sum(each.numInputRows for each in progress),
            "micro_batches": sum(each.durationMs["triggerExecution"] for each in progress) / 1000,
        }

    def idle(self, job: Job) -> Answer:
        """Return the milliseconds from one trigger to the next while no message arrives.

        The milliseconds include the pause between triggers.

        The source is this package's on a silent topic, or Spark's rate source between its seconds.
        """
        if job["source"] == "rate":
            frame = self._session(job).readStream.format("rate").option("rowsPerSecond", 1).load()
        else:
            frame = self._source(job).load()
        idleness = Idleness()
        self._session(job).streams.addListener(idleness)
        try:
            query = self._noop(frame)
            time.sleep(job["warm_up_seconds"])
            first = len(idleness.triggers)
            time.sleep(job["seconds"])
            _await(lambda: len(idleness.triggers) - first > _LEAST_TRIGGERS)
            query.stop()
        finally:
            self._session(job).streams.removeListener(idleness)
        moments = idleness.triggers[first:]
        # Once in a second, a trigger of the rate source finds a row, and the gap after that trigger is longer.
        gaps = [after - before for before, after in pairwise(moments)]
        return {"rows": len(gaps), "p50_ms": statistics.median(gaps)}

    def small_triggers(self, job: Job) -> Answer:
        """Return the milliseconds of triggers with a few rows each."""
        if job["source"] == "rate":
            frame = self._session(job).readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        else:
            frame = self._source(job).load()
        query = self._noop(frame)
        time.sleep(job["warm_up_seconds"] + job["seconds"])
        _await(lambda: sum(each.numInputRows > 0 for each in query.recentProgress) > _LEAST_TRIGGERS)
        progress = [each for each in query.recentProgress if each.numInputRows]
        query.stop()
        spent = [each.durationMs["triggerExecution"] for each in progress[len(progress) // 3 :]]
        return {"rows": len(spent), "p50_ms": statistics.median(spent)}

    def _noop(self, frame: DataFrame) -> StreamingQuery:
        return frame.writeStream.format("noop").trigger(processingTime="0 seconds").start()

    def latency(self, job: Job) -> Answer:
        """Return the milliseconds from a message's send to its row in foreachBatch.

        Messages count if they are sent within `seconds`, after the query has caught up. Values begin with the time of
        sending in nanoseconds since 1970.
        """
        arrived: list[tuple[int, int]] = []
        epochs: list[int] = []

        def receive(epoch: DataFrame, _: int) -> None:
            values = epoch.select("value").toArrow().column("value").to_pylist()
            now = time.time_ns()
            arrived.extend((int.from_bytes(value[:8], "big"), now) for value in values)
            epochs.append(now)

        frame = self._source(job).load()
        query = frame.writeStream.foreachBatch(receive).trigger(processingTime="0 seconds").start()
        _await(lambda: len(epochs) > _LEAST_TRIGGERS)
        time.sleep(job["warm_up_seconds"])
        begin = time.time_ns()
        end = begin + int(job["seconds"] * 1e9)
        time.sleep(job["seconds"])
        _await(lambda: arrived[-1][0] >= end)
        query.stop()
        found = sorted((now - sent) / 1e6 for sent, now in arrived if begin <= sent < end)
        return {
            "rows": len(found),
            "epochs": sum(begin <= now < end for now in epochs),
            "p50_ms": found[len(found) // 2],
            "p99_ms": found[len(found) * 99 // 100],
            "max_ms": found[-1],
        }


def _await(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + _WAIT_SECONDS
    while not condition():
        assert time.monotonic() < give_up, "too few triggers"
        time.sleep(0.1)


def main() -> None:
    streams = Streams()
    jobs: dict[str, Callable[[Job], Answer]] = {
        "official": official_read,
        "arrow": arrow_read,
        "catch up": streams.catch_up,
        "idle": streams.idle,
        "small triggers": streams.small_triggers,
        "latency": streams.latency,
    }
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Only measures go to standard output.
    for line in sys.stdin:
        job = json.loads(line)
        cpu, started = own_cpu_seconds(), time.perf_counter()
        answer = jobs[job["do"]](job)
        answer["seconds"] = time.perf_counter() - started
        answer["own_cpu"] = own_cpu_seconds() - cpu
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
