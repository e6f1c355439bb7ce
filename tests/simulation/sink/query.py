"""A streaming query with the exactly-once sink, run by a simulated Spark.

The driver runs epoch after epoch. Each task attempt runs in its own process, as in a Python worker. Spark repeats a
failed task, runs some tasks twice, and aborts the epoch when a task has failed too often. After a failure, or the death
of its driver, the query starts again with a new run. It then repeats the epoch that its checkpoint lacks.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.errors import CommitUnfinished, PulsarError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema
from pyspark_pulsar.write import task as write_task
from pyspark_pulsar.write.exactly_once import delivery as delivery_module, task as exactly_once_task
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.journal_names import journal_of_stream
from pyspark_pulsar.write.target import Target
from simulation import runtime, spark
from simulation.case import Case, Run
from simulation.faults import draw_faults
from simulation.world import Process

TOPIC: Final = "persistent://public/default/rows"
_COLUMNS: Final = pa.schema([pa.field("value", pa.binary())])
_ROW: Final = re.compile(rb"<(\d+),(\d+),(\d+)>")
_LOSS: Final = re.compile(r"epoch (\d+): .* rows of Spark's partitions ([\d, ]+) are missing")
_REQUESTS_OF_START, _REQUESTS_OF_EPOCH, _REQUESTS_OF_TASK = 30, 40, 35
"""Approximate numbers of requests without faults."""
_TASK_TRIES: Final = 3
_MISSED_SECONDS: Final = 10.0
_TIMEOUT_MS: Final = 60_000

OPTIONS: Final = parse_options(
    WriteOptions,
    {
        "service.url": "pulsar://broker-0:6650",
        "topic": TOPIC,
        "deliveryGuarantee": "exactly-once",
        "transactionTimeoutMs": str(_TIMEOUT_MS),
        "pulsar.client.operationTimeoutMs": "10000",
        "pulsar.producer.sendTimeoutMs": "10000",
    },
)


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    epochs: int = 2
    tasks: int = 2
    rows: int = 2
    partitions: int = 2
    until_recovery: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.005, 0.2, 3.0)
    """The times in seconds after which the transaction buffers of loaded topics begin to recover."""


def random_case(seed: int) -> Case:
    """Return the case of a seed: a small or a large query, with up to six faults."""
    rng = random.Random(seed)
    size = Size(rng.choice((1, 1, 2, 3)), rng.choice((1, 2, 2, 3)), rng.choice((1, 2)), rng.choice((1, 2, 4)))
    count = rng.choice((1, 2, 2, 3, 4, 6))
    requests = _REQUESTS_OF_START + size.epochs * (_REQUESTS_OF_EPOCH + size.tasks * _REQUESTS_OF_TASK)
    return Case(seed, size, tuple(draw_faults(rng, count, requests)))


class SinkRun(Run):
    """A run of the query."""

    def __init__(self, case: Case, *, keeps_history: bool = False) -> None:
        super().__init__(case, keeps_history=keeps_history)
        self.size: Size = case.size
        self.cluster.seconds_until_recovery = self._seconds_until_recovery
        self.committed = -1
        """The last epoch in the query's checkpoint."""
        self.drivers = 0
        self.is_over = False
        self.lost: tuple[int, frozenset[int]] | None = None
        """The epoch and the tasks whose rows the sink has reported as lost."""
        size = self.size
        self.cluster.create_topic(TOPIC, size.partitions)
        self.target = Target(
            TopicName.parse(TOPIC),
            tuple(f"{TOPIC}-partition-{index}" for index in range(size.partitions)),
            resolve_write_schema(_COLUMNS, None, topic=TOPIC),
        )
        self.trouble.on_suspended = self._suspended

    # Spark

    def start_driver(self) -> None:
        self.drivers += 1
        driver = self.process(f"driver-{self.drivers}")
        run = f"run-{self.drivers}"

        def query() -> None:
            try:
                self._query(driver, run)
            except PulsarError as fault:
                self.failed(driver, fault)
                self.world.kill(driver)

        driver.on_death.append(self._restart)
        self.world.start(driver, driver.name, query)

    def failed(self, process: Process, fault: PulsarError) -> None:
        self.world.say(process.name, f"fails: {type(fault).__name__}: {fault}")
        if match := _LOSS.search(str(fault)):
            self.lost = (int(match[1]), frozenset(map(int, match[2].split(", "))))

    def _seconds_until_recovery(self) -> float:
        return self.size.until_recovery[self.world.choices.below(len(self.size.until_recovery))]

    def _suspended(self, process: Process, seconds: float) -> None:
        """Start another driver while one is suspended, as a cluster manager does that believes it is dead."""
        if process.name.startswith("driver") and seconds > _MISSED_SECONDS:
            self.world.at(self.world.now + _MISSED_SECONDS, self.start_driver)

    def _restart(self) -> None:
        if not self.is_over:
            self.world.at(self.world.now + 1.0 + self.world.choices.below(3) * 20, self.start_driver)

    def _query(self, driver: Process, run: str) -> None:
        delivery = ExactlyOnce(OPTIONS, journal_of_stream(OPTIONS, "checkpoint"))
        delivery.prepare(runs=True)
        for epoch in range(self.committed + 1, self.size.epochs):
            self.world.say(driver.name, f"begins epoch {epoch}")
            messages = _Stage(self, delivery, driver, run, epoch).messages()
            if None in messages:
                self.world.say(driver.name, f"aborts epoch {epoch}")
                delivery.abort(epoch, messages)
                raise PulsarError(f"epoch {epoch}: a task failed")
            try:
                delivery.commit(epoch, messages)
            except CommitUnfinished:
                raise
            except PulsarError:
                delivery.abort(epoch, messages)
                raise
            self.world.require_alive(driver)
            if self.committed >= epoch:
                raise PulsarError(f"epoch {epoch}: another query has written it to the checkpoint")
            self.committed = epoch
            self.world.say(driver.name, f"has committed epoch {epoch}")
        self.is_over = True

    # The run

    def execute(self) -> list[str]:
        self.start_driver()
        # Only an operator can continue after a loss.
        self.run_until(lambda: self.is_over or self.lost is not None)
        self.end_troubles()
        self.run_process("end of time", lambda: runtime.time.sleep(_TIMEOUT_MS / 1000 + 120))
        return self._check()

    def _check(self) -> list[str]:
        size, faults = self.size, []
        lost_epoch, lost_tasks = self.lost or (size.epochs, frozenset())
        expected = Counter(
            (epoch, task, row)
            for epoch in range(min(size.epochs, lost_epoch + 1))
            for task in range(size.tasks)
            for row in range(size.rows)
            if epoch != lost_epoch or task not in lost_tasks
        )
        found: Counter[tuple[int, int, int]] = Counter()
        for name in self.target.partitions:
            topic = self.cluster.topics[name]
            if topic.open_transactions:
                faults.append(f"readers of {name} wait at a row of {next(iter(topic.open_transactions))}")
            for entry in topic.visible():
                for row in _ROW.findall(entry.tail):
                    found[tuple(map(int, row))] += 1  # type: ignore[index]
        if missing := expected - found:
            faults.append(f"missing: {sorted(missing)}")
        if extra := found - expected:
            faults.append(f"too many: {sorted(extra)}")
        return faults


class _Stage:
    """The tasks of an epoch. Spark repeats a failed task, and runs some tasks twice."""

    def __init__(self, query: SinkRun, delivery: ExactlyOnce, driver: Process, run: str, epoch: int) -> None:
        self._query = query
        self._delivery = delivery
        self._driver = driver
        self._run = run
        self._epoch = epoch
        count = query.size.tasks
        self._results: list[Any] = [None] * count
        self._tries = [0] * count
        self._running = [0] * count
        self._done: runtime.Future[None] = runtime.Future()

    def messages(self) -> list[Any]:
        """Run the tasks, and return the message of each. The message of a task that has failed too often is None."""
        for task in range(len(self._results)):
            self._begin(task)
            if self._query.world.choices.below(8) == 7:
                self._begin(task)
        self._done.result()
        return self._results

    def _begin(self, task: int) -> None:
        query = self._query
        worker = query.process(
            f"task {task} of epoch {self._epoch} of {self._run}, attempt {self._tries[task]}"
        )
        self._tries[task] += 1
        self._running[task] += 1
        worker.memory["task"] = (self._run, self._epoch, task)
        worker.on_death.append(lambda: self._ended(task, None))
        query.world.start(worker, worker.name, lambda: self._attempt(worker, task))

    def _attempt(self, worker: Process, task: int) -> None:
        query = self._query
        try:
            message = self._delivery.write(query.target, _rows(self._epoch, task, query.size.rows))
        except PulsarError as fault:
            query.failed(worker, fault)
            query.world.kill(worker)
            return
        query.world.say(worker.name, "ends")
        worker.on_death.clear()
        self._ended(task, message)

    def _ended(self, task: int, message: Any) -> None:
        if not self._driver.alive or self._done.done():
            return
        self._running[task] -= 1
        self._results[task] = self._results[task] or message
        if self._results[task] is None and self._running[task] == 0:
            if self._tries[task] < _TASK_TRIES:
                self._begin(task)
            else:
                self._done.set_result(None)
        elif all(result is not None for result in self._results):
            self._done.set_result(None)


def _rows(epoch: int, task: int, count: int) -> Any:
    for row in range(count):
        value = f"<{epoch},{task},{row}>".encode()
        yield pa.RecordBatch.from_arrays([pa.array([value], pa.binary())], schema=_COLUMNS)


def _present_epoch() -> tuple[str, str, int]:
    run, epoch, _ = runtime.world.process.memory["task"]
    return "query", run, epoch


def _present_partition() -> int:
    memory = runtime.world.process.memory
    return int(memory["task"][2]) if "task" in memory else 0


spark.replace(
    {
        delivery_module: {"pooled_client": spark.pooled_client},
        exactly_once_task: {
            "pooled_client": spark.pooled_client,
            "present_epoch": _present_epoch,
            "present_partition": _present_partition,
        },
        write_task: {"pooled_client": spark.pooled_client, "present_partition": _present_partition},
    }
)
