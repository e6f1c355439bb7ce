"""Rows that reach the broker after their transaction was aborted do not block readers, whichever process
aborted it.

The topics never had a transaction, so their transaction buffers know no aborted transactions yet. A plain message,
which ends no transaction, shows whether one is open.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from click.testing import CliRunner
from fixtures.forwarder import Forwarder, SeenCommand
from fixtures.key_pair import KeyPair, new_key_pair
from integration.epoch_rows import options, read
from integration.official import Admin, await_true
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import ADD_PARTITION_TO_TXN
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators, OpenTransaction
from pyspark_pulsar.errors import TransactionEnded, WriterFenced
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.exactly_once import abort, task
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.epochs import abort_epoch, commit_epoch, take_over
from pyspark_pulsar.write.exactly_once.journal import Journal
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopic
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import BegunTransaction, Writer
from pyspark_pulsar.write.exactly_once.task import write_in_transaction
from pyspark_pulsar.write.target import settle_target

SEND = 6
WRITER = Writer("owner", "run")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return new_key_pair(tmp_path_factory.mktemp("keys"))


def by_the_driver(sink: Sink, _: str) -> None:
    abort_epoch(sink, WRITER, 0, [])


def by_a_commit(sink: Sink, _: str) -> None:
    commit_epoch(sink, WRITER, 0, [])


def by_the_next_run(sink: Sink, _: str) -> None:
    take_over(sink, Writer("owner", "next"))


def by_hand(sink: Sink, service_url: str) -> None:
    arguments = ["transactions", "resolve", "--journal", sink.journal.prefix, "--abort-open", "ignored"]
    done = CliRunner().invoke(cli, [*arguments, "--service-url", service_url], catch_exceptions=False)
    assert done.exit_code == 0


def begin(sink: Sink, partitions: list[str]) -> TransactionId:
    """Begin a transaction as a task does before its first row."""
    transaction = sink.coordinators.begin(600_000)
    sink.journal.write_begun(BegunTransaction(transaction, WRITER, 0, tuple(partitions)))
    sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition, *partitions])
    return transaction


def send_late(pulsar: LocalPulsar, partition: str, transaction: TransactionId) -> None:
    with BrokerClient(options(pulsar, partition)) as client:
        late = JournalTopic(client, partition, 1).writer(transaction=transaction)
        late.append({"transaction": list(transaction)})
        late.close()


@pytest.mark.parametrize("aborted", [by_the_driver, by_a_commit, by_the_next_run, by_hand])
def test_late_rows_of_an_abandoned_task_block_no_reader(
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    aborted: Callable[[Sink, str], None],
) -> None:
    admin.create(topic)
    admin.create_partitioned(f"{topic}-partitioned", 2)
    partitions = [topic, *(f"{topic}-partitioned-partition-{index}" for index in range(2))]
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, WRITER)
        transactions = [begin(sink, partitions) for _ in range(2)]
        aborted(sink, pulsar.service_url)
        for transaction in transactions:
            assert sink.coordinators.still_open([transaction], topic) == []
            for partition in (*partitions, sink.journal.marker_partition):
                send_late(pulsar, partition, transaction)
        assert [read(official, partition).total() for partition in partitions] == [0, 0, 0]
        state = sink.journal.state()
        assert state is not None
        assert sink.journal.fence_markers(state.ended)


def test_a_topic_added_while_buffers_are_prepared_blocks_no_reader(
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task whose rows name topics continues after its job has failed, and adds a topic."""
    second = f"{topic}-second"
    for name in (topic, second):
        admin.create(name)
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, WRITER)
        transaction = begin(sink, [topic])
        made_ready = abort._make_ready

        def take_in_more(of: Sink, partitions: Sequence[str]) -> None:
            made_ready(of, partitions)
            monkeypatch.undo()
            sink.journal.write_begun(BegunTransaction(transaction, WRITER, 0, (second,)))
            sink.coordinators.add_partitions(transaction, [second])

        monkeypatch.setattr(abort, "_make_ready", take_in_more)
        abort_epoch(sink, WRITER, 0, [])
        for name in (topic, second):
            send_late(pulsar, name, transaction)
            assert read(official, name).total() == 0


def test_an_unwritable_partition_does_not_block_the_others(
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = f"{topic}-a-terminated-one"
    for name in (topic, ended):
        admin.create(name)
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, WRITER)
        transaction = begin(sink, [topic, ended])
        admin.terminate(ended)
        # An open transaction would block the topic for longer than this test runs.
        monkeypatch.setattr(abort, "_TIMEOUT_MS", 600_000)
        abort_epoch(sink, WRITER, 0, [])
        assert "could not write to some topic partitions before aborting their transactions" in caplog.text
        send_late(pulsar, topic, transaction)
        assert read(official, topic).total() == 0


def test_control_late_rows_block_readers_of_an_unprepared_buffer(
    topic: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Negative control, on a server of its own, because other tests' open transactions hold the low water mark back."""
    with (
        LocalPulsar(data=tmp_path) as pulsar,
        closing(official_client.Client(pulsar.service_url)) as official,
    ):
        monkeypatch.setattr(abort, "_make_ready", lambda *_: None)
        with BrokerClient(options(pulsar, topic)) as client:
            sink = Sink.open(client, f"{topic}-journal")
            take_over(sink, WRITER)
            transaction = begin(sink, [topic])
            abort_epoch(sink, WRITER, 0, [])
            send_late(pulsar, topic, transaction)
            producer = official.create_producer(topic)
            producer.send(b"plain")
            producer.close()
            reader = official.create_reader(topic, official_client.MessageId.earliest)
            assert not reader.has_message_available()
            reader.close()
            still_open = begin(sink, [f"{topic}-other"])
        # A command ends the late transaction immediately, and no open one.
        arguments = ["transactions", "unblock", topic, "--service-url", pulsar.service_url]
        assert (
            CliRunner()
            .invoke(cli, arguments, catch_exceptions=False)
            .output.startswith(f"{topic}: later messages")
        )
        assert read(official, topic) == {"plain": 1}
        with BrokerClient(options(pulsar, topic)) as client:
            coordinators = Coordinators(client)
            assert coordinators.still_open([still_open], f"{topic}-other") == [still_open]
            coordinators.abort_all([still_open])


def test_an_abort_does_not_create_a_deleted_topic(
    pulsar: LocalPulsar, admin: Admin, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, WRITER)
        admin.create(topic)
        admin.create_partitioned(f"{topic}-again", 1)
        begin(sink, [topic, f"{topic}-again-partition-0"])
        admin.delete(topic)
        again = f"{topic}-again".replace("://", "/")
        assert admin.request("DELETE", f"{again}/partitions?force=true").status < 300
        admin.create(f"{topic}-again")
        take_over(sink, Writer("owner", "next"))
    assert {name for name in admin.topics() if name.startswith(topic) and "-journal-" not in name} == {
        f"{topic}-again"
    }
    assert caplog.messages == []


def test_a_task_ends_when_its_transaction_has_timed_out(
    pulsar: LocalPulsar, official: official_client.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task's rows would be late too, at partitions to which it has sent nothing before."""
    given = options(pulsar, topic)
    rows = pa.record_batch({"value": ["a"]})
    transactions: list[OpenTransaction] = []
    add_partitions = OpenTransaction.add_partitions

    def added(self: OpenTransaction, partitions: Sequence[str]) -> None:
        transactions.append(self)
        add_partitions(self, partitions)

    def batches() -> Iterator[pa.RecordBatch]:
        yield rows
        transactions[0]._ends = time.monotonic()
        yield rows

    monkeypatch.setattr(OpenTransaction, "add_partitions", added)

    target = settle_target(given, rows.schema)
    name = JournalName(topic, f"{topic}-journal")
    with pytest.raises(TransactionEnded, match=r"expected all rows .*raise transactionTimeoutMs"):
        write_in_transaction(given, target, name, batches(), Writer("job", "job"))
    assert read(official, topic).total() == 0


@pytest.mark.parametrize("behind", ["take_over", "begin", "write_begun"])
def test_a_task_that_begins_after_its_job_failed_is_refused(
    pulsar: LocalPulsar,
    official: official_client.Client,
    topic: str,
    behind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark ends tasks of a failed job a moment after it has called the driver's abort."""
    given = options(pulsar, topic)
    rows = pa.record_batch({"value": ["a"]})
    target, name = settle_target(given, rows.schema), JournalName(topic, f"{topic}-journal")
    job = Writer("job", "job", topic)
    failed = ExactlyOnce(given, name, job)
    scope = {"take_over": task, "begin": Coordinators, "write_begun": Journal}[behind]
    step = getattr(scope, behind)

    def abort_meanwhile(*arguments: Any, **named: Any) -> Any:
        result = step(*arguments, **named)
        monkeypatch.undo()
        failed.abort(0, [None, None])
        return result

    monkeypatch.setattr(scope, behind, abort_meanwhile)
    with pytest.raises((WriterFenced, TransactionEnded), match=r"the job has failed|not open"):
        write_in_transaction(given, target, name, iter([rows]), job)
    # A task that begins still later is refused, too.
    with pytest.raises(WriterFenced, match="the job has failed"):
        write_in_transaction(given, target, name, iter([rows]), job)
    assert read(official, topic).total() == 0
    again = ExactlyOnce(given, name, Writer("again", "again", topic))
    again.commit(0, [write_in_transaction(given, target, name, iter([rows]), again.job)])
    with pytest.raises(WriterFenced, match=r"batch job again .*has taken over, or the job has failed"):
        write_in_transaction(given, target, name, iter([rows]), job)
    assert read(official, topic) == {"a": 1}


def test_an_attempt_that_begins_after_the_commit_is_refused(
    pulsar: LocalPulsar, official: official_client.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A speculative attempt, which Spark ends a moment later, sends no message to any partition."""
    given = options(pulsar, topic)
    rows = pa.record_batch({"value": ["a"]})
    target, name = settle_target(given, rows.schema), JournalName(topic, f"{topic}-journal")
    job = ExactlyOnce(given, name, Writer("job", "job", topic))
    begin_transaction = Coordinators.begin

    def commit_meanwhile(*arguments: Any) -> TransactionId:
        monkeypatch.undo()
        job.commit(0, [write_in_transaction(given, target, name, iter([rows]), job.job)])
        monkeypatch.setattr(abort, "_make_ready", None)
        return begin_transaction(*arguments)

    monkeypatch.setattr(Coordinators, "begin", commit_meanwhile)
    with pytest.raises(WriterFenced, match="is decided already, with another attempt"):
        write_in_transaction(given, target, name, iter([rows]), job.job)
    assert read(official, topic) == {"a": 1}


def test_a_task_of_a_job_that_failed_before_it_is_refused(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    """The failed job shares the journal with a running job; the journal of a query does not change."""
    given = options(pulsar, topic)
    rows = pa.record_batch({"value": ["a"]})
    target, name = settle_target(given, rows.schema), JournalName(topic, f"{topic}-journal")
    running = ExactlyOnce(given, name, Writer("running", "running", topic))
    message = write_in_transaction(given, target, name, iter([rows]), running.job)
    failed = Writer("failed", "failed", topic)
    ExactlyOnce(given, name, failed).abort(0, [None])
    with pytest.raises(WriterFenced, match="or the job has failed"):
        write_in_transaction(given, target, name, iter([rows]), failed)
    running.commit(0, [message])
    assert read(official, topic) == {"a": 1}
    with BrokerClient(given) as client:
        sink = Sink.open(client, f"{topic}-of-a-query")
        state = take_over(sink, WRITER)
        ExactlyOnce(given, JournalName(topic, sink.journal.prefix), failed).abort(0, [None])
        assert sink.journal.state() == state
        # Any job may use a journal afterwards if no job has begun with it.
        nobodys = f"{topic}-of-nobody"
        ExactlyOnce(given, JournalName(topic, nobodys), failed).abort(0, [None])
        with pytest.raises(WriterFenced, match="the job has failed"):
            write_in_transaction(given, target, JournalName(topic, nobodys), iter([rows]), failed)
        assert take_over(Sink.open(client, nobodys), WRITER).writer == WRITER


def test_buffers_in_a_strict_namespace_are_prepared(
    pulsar: LocalPulsar, admin: Admin, topic: str, pair: KeyPair, caplog: pytest.LogCaptureFixture
) -> None:
    """The buffers of topics in a strict namespace become ready all the same."""
    namespace = f"public/strict-{topic[-12:]}"
    admin.make_namespace(namespace)
    for demand in ("encryptionRequired", "schemaValidationEnforced"):
        assert admin.request("POST", f"namespaces/{namespace}/{demand}", True).status < 300
    keys = {"encryption_keys": ("mine",), "crypto_default_public_key": pair.public}
    given = options(pulsar, f"persistent://{namespace}/t", value_format="json", **keys)
    rows = pa.record_batch({"a": ["a"], "b": [1]})

    def batches() -> Iterator[pa.RecordBatch]:
        yield rows
        raise ValueError("bad row")

    target = settle_target(given, rows.schema)
    name = JournalName(str(given.topic), f"{topic}-journal")
    with pytest.raises(ValueError, match="bad row"):
        write_in_transaction(given, target, name, batches(), Writer("job", "job"))
    assert caplog.messages == []


def test_rows_of_a_failed_job_block_no_reader(
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    tmp_path: Path,
) -> None:
    """A task fails while another sends its first rows."""
    on_their_way, job_has_failed = tmp_path / "on-their-way", threading.Event()
    writing: set[int] = set()

    def hold(seen: SeenCommand) -> None:
        if seen.command == ADD_PARTITION_TO_TXN:
            writing.add(seen.connection)
        elif seen.command == SEND and seen.connection in writing and not on_their_way.exists():
            on_their_way.touch()
            assert job_has_failed.wait(60)

    @udf("string", useArrow=False)
    def bad_at_the_end(value: str) -> str:
        if value == "999":
            while not on_their_way.exists():
                time.sleep(0.05)
            raise ValueError("bad row")
        return value

    numbers = spark.range(1000, numPartitions=2).selectExpr("cast(id as string) as value")
    rows = numbers.select(bad_at_the_end("value").alias("value"))
    with Forwarder(pulsar.service_url, hold) as forwarder:
        writer = rows.write.format("pulsar").mode("append").option("service.url", forwarder.service_url)
        with pytest.raises(Exception, match="bad row"):
            writer.option("topic", topic).option("deliveryGuarantee", "exactly-once").save()
        job_has_failed.set()
        await_true("the rows", lambda: admin.stats(topic)["msgInCounter"] >= 500)
    assert read(official, topic).total() == 0
