"""Outcomes of commits: a job that reports failure has stored no row, even if the broker froze or another job
took over.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Timer
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from integration.epoch_rows import ROWS, once, options, read

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.errors import CommitUnfinished, PulsarError, WriterFenced
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.commit_message import RowsPrepared
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.epochs import take_over
from pyspark_pulsar.write.exactly_once.journal import Decider, Journal
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.resolve import resolve_journal
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import EPOCH_OF_A_JOB, JournalState, Writer
from pyspark_pulsar.write.target import settle_target

# The freeze is longer than the limit of a request, which is longer than a slow machine needs for one.
FROZEN_SECONDS = 25.0
REQUEST_MS = 10_000


def delivery_of(given: WriteOptions, journal: str, job: Writer) -> ExactlyOnce:
    return ExactlyOnce(given, JournalName(str(given.topic), journal), job)


def prepared(given: WriteOptions, journal: str, job: Writer) -> list[RowsPrepared]:
    """Return the messages of the two tasks of a job."""
    rows = pa.table({"value": [str(number) for number in range(ROWS)]})
    target = settle_target(given, rows.schema)
    halves = [rows.slice(0, ROWS // 2), rows.slice(ROWS // 2)]
    delivery = delivery_of(given, journal, job)
    return [delivery.write(target, iter(half.to_batches())) for half in halves]


def run_job(
    given: WriteOptions, journal: str, at_commit: Callable[[], WriteOptions] | None = None
) -> PulsarError | None:
    """Run a job as Spark does, which aborts a job whose commit failed.

    Returns the error that the user gets; a success returns None. `at_commit` returns the options to commit with.
    """
    name = uuid.uuid4().hex
    job = Writer(name, name, given.topic)
    messages = prepared(given, journal, job)
    delivery = delivery_of(given if at_commit is None else at_commit(), journal, job)
    try:
        delivery.commit(EPOCH_OF_A_JOB, messages)
    except PulsarError as fault:
        try:
            delivery.abort(EPOCH_OF_A_JOB, messages)
        except CommitUnfinished as told:
            return told
        except PulsarError:
            pass
        return fault
    return None


class Freezer:
    """A patch that stops the server at the n-th call of a method, once, for some seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pid: int, scope: type, method: str, nth: int) -> None:
        self._calls = 0
        self.thawed = Event()
        plain = getattr(scope, method)

        def call(*arguments: Any, **named: Any) -> Any:
            self._calls += 1
            if self._calls == nth:
                os.kill(pid, signal.SIGSTOP)
                Timer(FROZEN_SECONDS, self._thaw, [pid]).start()
            return plain(*arguments, **named)

        monkeypatch.setattr(scope, method, call)

    def _thaw(self, pid: int) -> None:
        os.kill(pid, signal.SIGCONT)
        self.thawed.set()


@pytest.mark.parametrize(
    ("scope", "method", "nth", "patient"),
    [
        (Coordinators, "require_open", 1, True),
        (Decider, "decide", 1, True),
        (Decider, "decide", 1, False),
        (Coordinators, "commit_all", 1, True),
        (Coordinators, "commit_all", 1, False),
        (Decider, "decide", 2, True),
    ],
)
def test_a_broker_frozen_at_any_step_repeats_no_row(
    pulsar: LocalPulsar,
    official: official_client.Client,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    scope: type,
    method: str,
    nth: int,
    patient: bool,
) -> None:
    """Freeze the broker for longer than a request may last. A job that may run again does, and stores its
    rows once.
    """
    pid = pulsar.status().pid
    assert pid is not None
    given, journal = options(pulsar, topic), f"{topic}-journal"
    if not patient:
        monkeypatch.setattr(ExactlyOnce, "_retry_seconds", 0.0)
    freezers: list[Freezer] = []

    def freeze() -> WriteOptions:
        freezers.append(Freezer(monkeypatch, pid, scope, method, nth))
        return replace(given, operation_timeout_ms=REQUEST_MS)

    told = run_job(given, journal, freeze)
    assert freezers[0].thawed.wait(60)
    behind = method != "require_open"
    assert isinstance(told, CommitUnfinished) == (behind and not patient), told
    if told is not None and not behind:
        assert run_job(given, journal) is None
    resolve_journal(given, journal, abort_open=False)
    assert read(official, topic) == once()


def test_a_decided_job_is_committed_after_a_takeover(
    pulsar: LocalPulsar, official: official_client.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later job fences the earlier one, and completes the decided epoch."""
    given, journal = options(pulsar, topic), f"{topic}-journal"
    plain = Journal.ended_end
    later: list[JournalState] = []

    def take_over_now(self: Journal) -> Position:
        monkeypatch.setattr(Journal, "ended_end", plain)
        with BrokerClient(given) as client:
            later.append(take_over(Sink.open(client, journal), Writer("later", "later", topic)))
        return plain(self)

    monkeypatch.setattr(Journal, "ended_end", take_over_now)
    assert run_job(given, journal) is None
    assert later[0].writer.owner == "later"
    # A job that had not decided gets an error.
    job = Writer("early", "early", topic)
    messages, delivery = prepared(given, journal, job), delivery_of(given, journal, job)
    with BrokerClient(given) as client:
        take_over(Sink.open(client, journal), Writer("latest", "latest", topic))
    with pytest.raises(WriterFenced, match=r"batch job latest to .* has taken over"):
        delivery.commit(EPOCH_OF_A_JOB, messages)
    delivery.abort(EPOCH_OF_A_JOB, messages)
    assert read(official, topic) == once()


def test_the_abort_of_a_killed_commit_reports_the_outcome(
    pulsar: LocalPulsar, official: official_client.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has no error from this package after the kill, and counts the job as failed."""

    class KilledError(BaseException):
        pass

    def kill(*_: object) -> None:
        raise KilledError

    given, journal, job = options(pulsar, topic), f"{topic}-journal", Writer("job", "job", topic)
    messages, delivery = prepared(given, journal, job), delivery_of(given, journal, job)
    with monkeypatch.context() as patch:
        patch.setattr(Coordinators, "commit_all", kill)
        with pytest.raises(KilledError):
            delivery.commit(EPOCH_OF_A_JOB, messages)
    with pytest.raises(CommitUnfinished, match=r"All its rows are visible\. Do not run the job again"):
        delivery.abort(EPOCH_OF_A_JOB, messages)
    assert read(official, topic) == once()
