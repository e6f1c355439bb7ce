"""A driver that plans, with one job for each line of JSON on standard input. See bench/sizing.py."""

from __future__ import annotations

import json
import pickle
import sys
import time
from typing import Any

from process_use import resident_mebibytes
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader

Job = dict[str, Any]
Answer = dict[str, float]


class Session:
    def __init__(self) -> None:
        self._reader: PulsarStreamReader | None = None
        self._offset: dict[str, Any] = {}

    def do(self, job: Job) -> Answer:
        """Run a job, and return the job's wall seconds, and the CPU and peak memory of this process."""
        action = getattr(self, "_" + job["do"].replace(" ", "_").replace("-", "_"))
        wall, cpu = time.perf_counter(), time.process_time()
        answer = action(job) or {}
        return {
            "seconds": time.perf_counter() - wall,
            "driver_cpu": time.process_time() - cpu - answer.pop("counting", 0.0),
            "peak_mebibytes": resident_mebibytes(peak=True),
            **answer,
        }

    def _plan(self, job: Job) -> Answer:
        plan = plan_batch(parse_options(ReadOptions, job["options"]))
        began = time.process_time()
        # A tenth of the tasks represents all of them, with less memory.
        sampled = plan.tasks[::10] or plan.tasks
        sent = sum(len(pickle.dumps(InputPartition(task))) for task in sampled)
        splits = sum(len(task) for task in sampled)
        return {
            "splits": len(plan.splits),
            "tasks": len(plan.tasks),
            "sent_bytes_a_split": sent / max(1, splits),
            "counting": time.process_time() - began,
        }

    def _schema(self, job: Job) -> None:
        resolve_source_schema(parse_options(ReadOptions, job["options"]))

    def _stream(self, job: Job) -> Answer:
        """Run a query from the start to the query's first offset."""
        options = parse_options(ReadOptions, job["options"])
        schema = resolve_source_schema(parse_options(ReadOptions, job["options"]))
        self._reader = PulsarStreamReader(options, schema)
        begin = self._reader.initialOffset()
        self._offset = self._reader.latestOffset(begin, ReadAllAvailable())
        tasks = self._reader.partitions(begin, self._offset)
        return {"offset_bytes": len(json.dumps(self._offset)), "tasks": len(tasks)}

    def _trigger(self, job: Job) -> Answer:
        """Run the calls of one trigger that Spark makes on the driver."""
        reader, rows = self._reader, job.get("rows")
        assert reader is not None
        limit = ReadAllAvailable() if rows is None else ReadMaxRows(rows)
        began = time.process_time()
        reached = reader.latestOffset(self._offset, limit)
        latest = time.process_time() - began
        tasks = [] if reached == self._offset else reader.partitions(self._offset, reached)
        if reached != self._offset:
            reader.commit(reached)
        splits = sum(len(task.value) for task in tasks)
        self._offset = reached
        return {"tasks": len(tasks), "splits": splits, "latest_offset_cpu": latest}

    def _stop(self, _: Job) -> None:
        if self._reader is not None:
            self._reader.stop()


def main() -> None:
    session = Session()
    for line in sys.stdin:
        print(json.dumps(session.do(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
