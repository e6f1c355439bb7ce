"""A streaming query that reads a topic, run by a simulated Spark, while other processes write the topic.

The driver plans micro-batches. Each task runs in its own process. Spark stores the end of a micro-batch before the
tasks run, and repeats the micro-batch after a failure. The messages of some writers are in transactions.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql.datasource import InputPartition

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.codec.decoder_pool import DECODERS
from pyspark_pulsar.errors import DataLossError, PulsarError, TransactionEnded
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.read.task import split_reader
from pyspark_pulsar.read.task.place_health import LOCATION_HEALTH
from pyspark_pulsar.read.task.schema_cache import SCHEMA_VERSIONS
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.spark import shipped_objects
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopicWriter
from simulation import runtime, spark
from simulation.case import Case, Run
from simulation.faults import draw_faults
from simulation.pulsar.topic import COMMIT, PLAIN, At
from simulation.world import Process

TOPIC: Final = "persistent://public/default/read"
_SETTINGS: Final = {
    "service.url": "pulsar://broker-0:6650",
    "topic": TOPIC,
    "startingOffsets": "earliest",
    "subscriptionName": "query",
    "pulsar.client.operationTimeoutMs": "10000",
    "pollTimeoutMs": "20000",
    "minPartitions": "2",
}
_REQUESTS: Final = 150
"""The approximate number of requests without faults."""
_TASK_TRIES: Final = 3
_PAUSES: Final = (0.05, 0.3, 2.0)
_TIMEOUT_MS: Final = 20_000
_TRIGGER_SECONDS: Final = 1.0
_REST_SECONDS: Final = 60.0
"""The time without new messages after which a query ends. All transactions have timed out by then."""

Row = tuple[str, At]
"""A topic partition, and the position of an entry."""


@dataclass(frozen=True)
class Size:
    """The size of a run."""

    partitions: int = 2
    writers: int = 2
    messages: int = 12
    """The number of messages of each writer."""
    entries_of_ledger: int = 5
    rows_of_micro_batch: int = 0
    """The limit of a micro-batch; 0 for none."""


@dataclass
class MicroBatch:
    """A micro-batch in the query's checkpoint."""

    start: dict[str, Any]
    end: dict[str, Any]
    rows: list[Row] | None = None
    """The rows; None until all tasks have ended."""


@dataclass
class SparkCheckpoint:
    """The files of the query's checkpoint, which survive the driver."""

    batches: list[MicroBatch] = field(default_factory=list)


def random_case(seed: int) -> Case:
    """Return the case of a seed, with up to six faults."""
    rng = random.Random(seed)
    size = Size(
        rng.choice((1, 2)),
        rng.choice((1, 2, 3)),
        rng.choice((4, 12, 24)),
        rng.choice((3, 5, 50)),
        rng.choice((0, 0, 3)),
    )
    return Case(seed, size, tuple(draw_faults(rng, rng.choice((1, 2, 2, 3, 4, 6)), _REQUESTS)))


class StreamRun(Run):
    """A run of the query."""

    def __init__(self, case: Case, *, keeps_history: bool = False) -> None:
        super().__init__(case, keeps_history=keeps_history)
        self.size: Size = case.size
        for cache in (DECODERS, SCHEMA_VERSIONS, LOCATION_HEALTH):
            cache.__init__()  # type: ignore[misc]  # forget earlier runs
        self.cluster.entries_of_ledger = self.size.entries_of_ledger
        self.cluster.create_topic(TOPIC, self.size.partitions)
        self.partitions = [f"{TOPIC}-partition-{index}" for index in range(self.size.partitions)]
        self.checkpoint = SparkCheckpoint()
        self.writing = 0
        self.drivers = 0
        self.is_over = False
        self.broken: list[str] = []
        limit = (
            {"maxRecordsPerTrigger": str(self.size.rows_of_micro_batch)}
            if self.size.rows_of_micro_batch
            else {}
        )
        self.options = parse_options(ReadOptions, _SETTINGS | limit)
        self.schema = resolve_read_schema(None, topic=TOPIC, columns=["__messageId"])

    # Writers

    def start_writer(self, number: int) -> None:
        """Start a process that writes messages, some of them in transactions. A killed writer stays dead."""
        process = self.process(f"writer-{number}")
        self.writing += 1
        process.on_death.append(self._writer_ended)

        def body() -> None:
            try:
                self._write(number)
            except PulsarError as fault:
                self.world.say(process.name, f"fails: {fault}")
            self.world.kill(process)

        self.world.start(process, process.name, body)

    def _writer_ended(self) -> None:
        self.writing -= 1

    def _write(self, number: int) -> None:
        choices = self.world.choices
        with BrokerClient(self.options) as client:
            left = self.size.messages
            while left > 0:
                topic = self.partitions[choices.below(len(self.partitions))]
                count = min(left, 1 + choices.below(4))
                left -= count
                if choices.below(3) == 2:
                    self._write_in_transaction(client, topic, number, count)
                else:
                    self._send(client, topic, number, count, None)
                runtime.time.sleep(_PAUSES[choices.below(len(_PAUSES))])

    def _send(self, client: BrokerClient, topic: str, number: int, count: int, transaction: Any) -> None:
        producer = Producer(
            client,
            topic,
            1,
            None,
            10.0,
            sends_again=transaction is None,
            transactional=transaction is not None,
        )
        try:
            producer.open()
            writer = JournalTopicWriter(producer, transaction)
            for _ in range(count):
                writer.append({"writer": number})
        finally:
            producer.close()

    def _write_in_transaction(self, client: BrokerClient, topic: str, number: int, count: int) -> None:
        coordinators = Coordinators(client)
        transaction = coordinators.begin(_TIMEOUT_MS)
        coordinators.add_partitions(transaction, [topic])
        self._send(client, topic, number, count, transaction)
        end = self.world.choices.below(4)
        try:
            if end == 3:
                return  # The transaction times out.
            if end == 2:
                coordinators.abort_all([transaction])
            else:
                coordinators.commit_all([transaction])
        except TransactionEnded as fault:
            self.world.say(f"writer-{number}", f"fails: {fault}")

    # Spark

    def start_driver(self) -> None:
        if self.is_over:
            return
        self.drivers += 1
        driver = self.process(f"driver-{self.drivers}")
        driver.on_death.append(self._restart)

        def query() -> None:
            try:
                self._query(driver)
            except PulsarError as fault:
                self._failed(driver, fault)
            self.world.kill(driver)

        self.world.start(driver, driver.name, query)

    def _failed(self, process: Process, fault: PulsarError) -> None:
        self.world.say(process.name, f"fails: {type(fault).__name__}: {fault}")
        if isinstance(fault, DataLossError):
            self.broken.append(f"{process.name} reports a loss: {fault}")
            self.is_over = True

    def _restart(self) -> None:
        if not self.is_over:
            pause = 1.0 + self.world.choices.below(3) * 20
            self.world.at(self.world.now + pause, self.start_driver)

    def _query(self, driver: Process) -> None:
        reader = PulsarStreamReader(self.options, self.schema)
        batches = self.checkpoint.batches
        start = reader.initialOffset() if not batches else batches[0].start
        for batch in batches:
            start = batch.end
            if batch.rows is None:
                self._run_batch(driver, reader, batch)
        idle = 0
        while not self.is_over:
            end = reader.latestOffset(start, reader.getDefaultReadLimit())
            if end == start:
                idle = idle + 1 if self.writing == 0 else 0
                if idle * _TRIGGER_SECONDS > _REST_SECONDS:
                    self.is_over = True
                    return
                runtime.time.sleep(_TRIGGER_SECONDS)
                continue
            idle = 0
            if batches:
                reader.commit(start)
            self.world.require_alive(driver)
            batch = MicroBatch(start, end)
            batches.append(batch)
            self._run_batch(driver, reader, batch)
            start = end

    def _run_batch(self, driver: Process, reader: PulsarStreamReader, batch: MicroBatch) -> None:
        rows: list[Row] = []
        for task in reader.partitions(batch.start, batch.end):
            rows += self._run_task(driver, reader, task)
        self.world.require_alive(driver)
        batch.rows = rows
        self.world.say(
            driver.name, f"has committed a micro-batch of {len(rows)} rows up to {batch.end['positions']}"
        )

    def _run_task(self, driver: Process, reader: PulsarStreamReader, task: InputPartition) -> list[Row]:
        """Run a task in a process of its own, again after a failure."""
        for attempt in range(_TASK_TRIES):
            worker = self.process(f"task of {driver.name}, attempt {attempt}")
            done: runtime.Future[list[Row] | None] = runtime.Future()

            def end(rows: list[Row] | None, done: runtime.Future[list[Row] | None] = done) -> None:
                if not done.done():
                    done.set_result(rows)

            def body(worker: Process = worker, end: Any = end) -> None:
                copy = PulsarStreamReader.__new__(PulsarStreamReader)
                copy.__dict__.update(reader.shipped_state())
                try:
                    rows = [row for batch in copy.read(task) for row in _rows(batch)]
                except PulsarError as fault:
                    self._failed(worker, fault)
                    rows = None
                end(rows)

            worker.on_death.append(lambda end=end: end(None))
            self.world.start(worker, worker.name, body)
            found = done.result()
            self.world.kill(worker)
            if found is not None:
                return found
        raise PulsarError("a task failed too often")

    # The run

    def execute(self) -> list[str]:
        for number in range(self.size.writers):
            self.start_writer(number)
        self.start_driver()
        self.run_until(lambda: self.is_over)
        return [*self.broken, *self._check()]

    def _check(self) -> list[str]:
        """Compare the rows of all micro-batches with the messages of the topic, in order."""
        broken = []
        if any(before.end != after.start for before, after in itertools.pairwise(self.checkpoint.batches)):
            broken.append("a micro-batch does not begin at the end of the previous one")
        rows = [row for batch in self.checkpoint.batches for row in batch.rows or ()]
        for name in self.partitions:
            found = [at for topic, at in rows if topic == name]
            expected = self._messages(name)
            if not self.broken and found != expected:
                missing = [at for at in expected if at not in found]
                extra = [at for at in found if at not in expected]
                broken.append(
                    f"{name}: missing {missing}, too many {extra}, {len(found)} of {len(expected)} rows"
                )
        return broken

    def _messages(self, name: str) -> list[At]:
        """Return the positions of all messages that were visible at some time, including removed messages.

        If a message arrives after the timeout of its transaction, the transaction can be open again. Brokers then show
        no later message.
        """
        topic = self.cluster.topics[name]
        open_at = min(topic.open_transactions.values(), default=None)
        entries = [
            entry for entry in (*topic.removed, *topic.entries) if open_at is None or entry.at < open_at
        ]
        committed = {entry.transaction for entry in entries if entry.kind == COMMIT}
        return [
            entry.at
            for entry in entries
            if entry.kind == PLAIN or (entry.transaction in committed and entry.kind != COMMIT)
        ]


def _rows(batch: Any) -> list[Row]:
    ids = batch.column("__messageId").to_pylist()
    return [(f"{TOPIC}-partition-{each['partition']}", (each["ledger"], each["entry"])) for each in ids]


spark.replace(
    {
        split_reader: {"pooled_client": spark.pooled_client},
        shipped_objects: {"freeze_imports": lambda: None, "show_warnings": lambda: None},
    }
)
