"""The protocol of the exactly-once sink: after a kill at any step, a later run must leave every row once.

The official client reads the result; a plain message after it shows that no transaction was left open.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pulsar as official_client
import pytest
from click.testing import CliRunner
from integration.epoch_rows import ROWS, once, options, read
from integration.official import Admin, await_true

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.errors import CommitError, OptionError, TransactionEnded, WriterFenced
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.exactly_once import abort as abort_module, epochs as epochs_module
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.epochs import commit_epoch, take_over
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.journal_topic import KEEPER
from pyspark_pulsar.write.exactly_once.recovery import abort_begun, finish
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import BegunTransaction, PreparedTransaction, Writer

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "write_epoch.py"
STEPS = [
    "Coordinators.begin:before:1",
    "Coordinators.begin:after:1",
    "Journal.write_begun:after:1",
    "Coordinators.add_partitions:after:1",
    "task.send_rows:after:1",
    "Journal.write_marker:after:1",
    "Journal.write_marker:after:2",
    "Journal.begun_since:after:2",
    "Decider.decide:before:2",
    "Decider.decide:after:2",
    "Coordinators._submit_end:before:1",
    "Coordinators._submit_end:after:1",
    "Coordinators._submit_end:after:2",
    "Coordinators._settle:after:5",
    "Coordinators.commit_all:after:1",
    "Journal.ended_end:after:1",
    "Decider.decide:after:3",
]


def run(pulsar: LocalPulsar, topic: str, name: str, timeout_ms: int = 600_000, **environment: str) -> int:
    """Run the program, print its errors, and return its exit code."""
    done = subprocess.run(
        [
            *(sys.executable, PROGRAM, pulsar.service_url, topic, f"{topic.partition(',')[0]}-journal"),
            *("owner", name, str(ROWS), str(timeout_ms)),
        ],
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_repeats_no_row(
    pulsar: LocalPulsar, official: official_client.Client, topic: str, step: str
) -> None:
    assert run(pulsar, topic, "first", KILL_AT=step) == -signal.SIGKILL
    assert run(pulsar, topic, "second") == 0
    assert read(official, topic) == once()


@pytest.mark.parametrize(
    "step",
    [
        "Coordinators.add_partitions:after:2",
        "task.send_rows:after:2",
        "Decider.decide:after:2",
        "Coordinators._submit_end:after:1",
    ],
)
def test_a_kill_with_rows_that_name_topics_repeats_no_row(
    pulsar: LocalPulsar, official: official_client.Client, admin: Admin, topic: str, step: str
) -> None:
    topics = [f"{topic}-{number}" for number in range(3)]
    for name in topics:
        admin.create(name)
    assert run(pulsar, ",".join(topics), "first", KILL_AT=step) == -signal.SIGKILL
    assert run(pulsar, ",".join(topics), "second") == 0
    found = [read(official, name) for name in topics]
    assert all(found)
    assert sum(found, Counter()) == once()


@pytest.mark.parametrize(
    "steps",
    [
        ("Coordinators._submit_end:after:1", "Coordinators._submit_end:after:2", "Decider.decide:before:1"),
        # Empty messages block readers until their transaction times out.
        ("Decider.decide:before:2", "abort._schemas:after:1", "EmptyMessage.send:after:2"),
    ],
    ids=["it finishes", "buffers are made ready"],
)
def test_a_second_kill_during_recovery_repeats_no_row(
    pulsar: LocalPulsar, official: official_client.Client, topic: str, steps: tuple[str, ...]
) -> None:
    for number, step in enumerate(steps):
        assert run(pulsar, topic, f"run {number}", KILL_AT=step) == -signal.SIGKILL
    assert run(pulsar, topic, "the last") == 0
    assert read(official, topic) == once()


def test_the_comparison_detects_a_repeated_epoch(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    """Show as a negative control that a run which forgets the decisions writes the epoch again."""
    assert run(pulsar, topic, "first", KILL_AT="Decider.decide:after:3") == -signal.SIGKILL
    assert run(pulsar, topic, "second", FORGET="1") == 0
    assert read(official, topic) == once() + once()


def test_the_previous_run_is_fenced(pulsar: LocalPulsar, topic: str) -> None:
    given = options(pulsar, topic)
    with BrokerClient(given) as client, BrokerClient(given) as other:
        first = Sink.open(client, f"{topic}-journal")
        second = Sink.open(other, f"{topic}-journal")
        take_over(first, Writer("owner", "a"))
        take_over(second, Writer("owner", "b"))
        with pytest.raises(WriterFenced, match=r"has taken over, as the journal .* \(run b\)"):
            take_over(first, Writer("owner", "a"))
        with pytest.raises(WriterFenced, match="run only one query per checkpoint"):
            commit_epoch(first, Writer("owner", "a"), 0, [])
        commit_epoch(second, Writer("owner", "b"), 0, [])


def test_many_tasks_take_over_concurrently(
    pulsar: LocalPulsar, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many tasks open the journal, as in the first epoch of a new run on as many cores.

    The previous run left transactions. Preparing the buffers of their partitions needs a while, during which other
    tasks arrive. No task repeats the preparation.
    """
    former, now, tasks = Writer("owner", "former"), Writer("owner", "now"), 24
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, former)
        left = [begin(sink, former).transaction for _ in range(3)]
    gate, makers, made_ready = Barrier(tasks), [], abort_module._make_ready

    def make_slowly(sink: Sink, partitions: Sequence[str]) -> None:
        makers.append(id(sink))
        made_ready(sink, partitions)
        time.sleep(0.5)

    monkeypatch.setattr(abort_module, "_make_ready", make_slowly)

    def task(_: int) -> str:
        with BrokerClient(options(pulsar, topic)) as client:
            sink = Sink.open(client, f"{topic}-journal")
            gate.wait(30)
            taken = take_over(sink, now).writer.run
            assert sink.coordinators.still_open(left, topic) == []
            assert makers.count(id(sink)) <= 1
            return taken

    with ThreadPoolExecutor(tasks) as pool:
        assert set(pool.map(task, range(tasks))) == {"now"}
    assert makers


def test_a_fenced_run_does_not_disturb_the_next_run(pulsar: LocalPulsar, topic: str) -> None:
    """The fenced run's tasks all fail, so Spark calls its `abort` without messages, while the next run writes
    the epoch.
    """
    journal = f"{topic}-journal"
    former, now = Writer("owner", "former"), Writer("owner", "now")
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, journal)
        take_over(sink, former)
        take_over(sink, now)
        transaction = sink.coordinators.begin(60_000)
        sink.journal.write_begun(BegunTransaction(transaction, now, 0))
        sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition])
        sink.journal.write_marker(transaction)
        ExactlyOnce(options(pulsar, topic), JournalName(topic, journal)).abort(0, [None, None])
        commit_epoch(sink, now, 0, [PreparedTransaction(transaction, 0, 1)])
        state = sink.journal.state()
    assert state is not None
    assert (state.epoch, state.done) == (0, True)


def test_a_decider_is_fenced_by_the_next_decider(pulsar: LocalPulsar, topic: str) -> None:
    given = options(pulsar, topic)
    with BrokerClient(given) as client, BrokerClient(given) as other:
        first, second = Sink.open(client, f"{topic}-journal"), Sink.open(other, f"{topic}-journal")
        state = take_over(first, Writer("owner", "a"))
        with first.journal.exclusive() as decider, second.journal.exclusive() as next_decider:
            with pytest.raises(WriterFenced):
                decider.decide(state)
            next_decider.decide(state)


def begin(sink: Sink, writer: Writer) -> PreparedTransaction:
    """Prepare a transaction of the writer's epoch 0, as its task leaves it."""
    transaction = sink.coordinators.begin(60_000)
    sink.journal.write_begun(BegunTransaction(transaction, writer, 0))
    sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition])
    sink.journal.write_marker(transaction)
    return PreparedTransaction(transaction, 0, 1)


def test_a_fenced_decider_aborts_nothing_of_the_next_run(pulsar: LocalPulsar, topic: str) -> None:
    given, former, now = options(pulsar, topic), Writer("owner", "former"), Writer("owner", "now")
    with BrokerClient(given) as client, BrokerClient(given) as other:
        first, second = Sink.open(client, f"{topic}-journal"), Sink.open(other, f"{topic}-journal")
        state = take_over(first, former)
        with first.journal.exclusive() as decider:
            take_over(second, now)
            prepared = begin(second, now)
            with pytest.raises(WriterFenced):
                abort_begun(first, state, decider)
        commit_epoch(second, now, 0, [prepared])
        assert second.journal.markers_since(EARLIEST) == {prepared.transaction}


def test_the_deletion_of_a_journal_under_running_tasks_is_reported(
    pulsar: LocalPulsar, topic: str, admin: Admin
) -> None:
    writer, journal = Writer("owner", "a"), f"{topic}-journal"
    given = replace(options(pulsar, topic), operation_timeout_ms=2000)
    with BrokerClient(given) as client:
        sink = Sink.open(client, journal)
        take_over(sink, writer)
        killed, prepared = begin(sink, writer), begin(sink, writer)
        admin.delete(f"{journal}-begun")
        with pytest.raises(CommitError, match=r"of its 1 tasks in .*-begun, got 0. The topic was deleted"):
            commit_epoch(sink, writer, 0, [prepared])
        open_ones = sink.coordinators.still_open(
            [killed.transaction, prepared.transaction], sink.journal.marker_partition
        )
        assert open_ones == [killed.transaction]
        sink.coordinators.abort_all([killed.transaction])
        # The next run has a complete journal again.
        again = Sink.open(client, journal)
        take_over(again, Writer("owner", "b"))
        commit_epoch(again, Writer("owner", "b"), 0, [begin(again, Writer("owner", "b"))])
        state = again.journal.state()
    assert state is not None
    assert (state.epoch, state.done) == (0, True)


def test_an_epoch_decided_during_preparation_is_not_aborted(
    pulsar: LocalPulsar, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run takes over while the previous run's driver is about to decide."""
    given, former, now = options(pulsar, topic), Writer("owner", "former"), Writer("owner", "now")
    with BrokerClient(given) as client, BrokerClient(given) as other:
        first, second = Sink.open(client, f"{topic}-journal"), Sink.open(other, f"{topic}-journal")
        state = take_over(first, former)
        prepared = begin(first, former)
        made_ready = abort_module._make_ready

        def decide_meanwhile(sink: Sink, partitions: Sequence[str]) -> None:
            made_ready(sink, partitions)
            monkeypatch.undo()
            with first.journal.exclusive() as decider:
                decider.decide(replace(state, epoch=0, transactions=(prepared,), done=False))

        monkeypatch.setattr(abort_module, "_make_ready", decide_meanwhile)
        state = take_over(second, now)
        assert (state.writer, state.epoch, state.done) == (now, 0, True)
        assert second.journal.markers_since(EARLIEST) == {prepared.transaction}


def test_markers_removed_by_the_next_run_are_not_reported_as_lost(
    pulsar: LocalPulsar, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, former, now = options(pulsar, topic), Writer("owner", "former"), Writer("owner", "now")
    with BrokerClient(given) as client, BrokerClient(given) as other:
        first, second = Sink.open(client, f"{topic}-journal"), Sink.open(other, f"{topic}-journal")
        state = take_over(first, former)
        with first.journal.exclusive() as decider:
            decided = replace(state, epoch=0, transactions=(begin(first, former),), done=False)
            decider.decide(decided)
            assert take_over(second, now).writer == now
            monkeypatch.setattr(first.journal, "markers_since", lambda _: set())
            with pytest.raises(WriterFenced):
                finish(first, decider, decided)


def test_a_journal_that_hides_messages_briefly_is_not_empty(
    pulsar: LocalPulsar, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BrokerClient(options(pulsar, topic)) as client:
        journal = Sink.open(client, f"{topic}-journal").journal
        state = take_over(Sink(client, journal, Coordinators(client)), Writer("owner", "a"))
        decided, looks = journal._decided, iter(range(100))
        since, last = decided.since, decided.last
        monkeypatch.setattr(decided, "last", lambda: None if next(looks) < 2 else last())
        monkeypatch.setattr(decided, "since", lambda start: [] if next(looks) < 2 else since(start))
        with journal.exclusive() as decider:
            assert decider.state == state


def has_ended(sink: Sink, transaction: TransactionId, topic: str) -> bool:
    try:
        sink.coordinators.add_partitions(transaction, [topic])
    except TransactionEnded:
        return True
    return False


def test_the_timeout_of_a_decided_transaction_is_reported(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    step = "Decider.decide:after:2"
    assert run(pulsar, topic, "first", 40_000, KILL_AT=step) == -signal.SIGKILL
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        state = sink.journal.state()
        assert state is not None
        assert state.decided
        for transaction in state.decided:
            await_true("the timeout", lambda decided=transaction: has_ended(sink, decided, topic), 120)
        for _ in range(2):
            with pytest.raises(
                CommitError, match=rf"epoch 0: .*{ROWS} rows of Spark's partitions .* missing"
            ):
                take_over(sink, Writer("owner", "second"))
    assert read(official, topic) == Counter()


def test_a_transaction_that_timed_out_is_not_decided(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    assert run(pulsar, topic, "first") == 0
    writer = Writer("owner", "second")
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, writer)
        late = sink.coordinators.begin(600_000)
        sink.coordinators.add_partitions(late, [topic, sink.journal.marker_partition])
        early = sink.coordinators.begin(5_000)
        with suppress(TransactionEnded):
            sink.coordinators.add_partitions(early, [topic, sink.journal.marker_partition])
        await_true("the timeout", lambda: has_ended(sink, early, topic))
        sink.coordinators.add_partitions(late, [topic])
        with pytest.raises(CommitError, match=r"epoch 1: .*raise the option, or make epochs smaller"):
            commit_epoch(sink, writer, 1, [PreparedTransaction(late, 0, 1), PreparedTransaction(early, 1, 1)])
        with pytest.raises(TransactionEnded):
            sink.coordinators.add_partitions(late, [topic])
        state = sink.journal.state()
        assert state is not None
        assert (state.epoch, state.done) == (0, True)
    assert read(official, topic) == once()


def test_a_broker_without_transactions_is_refused(tmp_path: Path) -> None:
    with (
        LocalPulsar(data=tmp_path, config={"transactionCoordinatorEnabled": "false"}) as server,
        BrokerClient(options(server, "t")) as client,
        pytest.raises(OptionError, match="transactionCoordinatorEnabled=true"),
    ):
        Coordinators(client).check()


def test_a_command_commits_what_a_dead_job_had_decided(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    assert run(pulsar, topic, "first", KILL_AT="Coordinators._submit_end:after:1") == -signal.SIGKILL
    arguments = ["transactions", "resolve", topic, "--service-url", pulsar.service_url]
    arguments += ["--journal", f"{topic}-journal"]
    for _ in range(2):
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0
        assert f"epoch 0 of owner is committed, {ROWS} rows in 2 transactions" in done.output
    assert read(official, topic) == once()


def test_a_command_aborts_what_a_dead_job_left_open(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    assert run(pulsar, topic, "first", KILL_AT="Decider.decide:before:2") == -signal.SIGKILL
    arguments = ["transactions", "resolve", topic, "--service-url", pulsar.service_url]
    arguments += ["--journal", f"{topic}-journal", "--abort-open"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert (done.exit_code, "nothing is decided" in done.output) == (0, True)
    assert read(official, topic) == Counter()


def test_the_journal_removes_completed_epochs(
    pulsar: LocalPulsar, admin: Admin, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epochs_module, "_FORGET_EVERY", 1)
    writer, epochs = Writer("owner", "a"), 10
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        take_over(sink, writer)
        for epoch in range(epochs):
            transaction = sink.coordinators.begin(600_000)
            sink.journal.write_begun(BegunTransaction(transaction, writer, epoch))
            sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition])
            sink.journal.write_marker(transaction)
            commit_epoch(sink, writer, epoch, [PreparedTransaction(transaction, 0, 0)])
        # The last epoch leaves its records, and for each record at least one of the broker's markers.
        for name in ("begun", "decided", "ended"):
            stats = admin.stats(f"{topic}-journal-{name}")
            assert stats["msgInCounter"] >= epochs
            assert stats["subscriptions"][KEEPER]["msgBacklog"] <= 3, name
        state = take_over(sink, Writer("owner", "b"))
    assert (state.epoch, state.done) == (epochs - 1, True)


def test_a_resumed_query_does_not_start_an_empty_journal(pulsar: LocalPulsar, topic: str) -> None:
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, f"{topic}-journal")
        sink.journal.prepare()
        with pytest.raises(CommitError, match=r"the journal .* is empty: .*transactionJournal"):
            take_over(sink, Writer("owner", "a"), may_be_empty=False)
