"""Mutations of the exactly-once sink: each removes one protection. The simulation must find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators, OpenTransaction
from pyspark_pulsar.write.exactly_once import abort, epochs, recovery, task
from pyspark_pulsar.write.exactly_once.journal import Decider, Journal
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopic

Patch = tuple[object, str, Any]


def _without_fence(self: Journal, writer: Any, before: Any) -> Any:
    return self._last_of([record.content for record in self._decided.since(before)])


def _writer_without_exclusion(original: Any) -> Any:
    def writer(self: Any, *, exclusive: bool = False, transaction: Any = None) -> Any:
        return original(self, exclusive=False, transaction=transaction)

    return writer


def _markers_ignored(*_: Any) -> None:
    """Treat every ended transaction as committed."""


def _done_at_once(original: Any) -> Any:
    def decide(sink: Any, decider: Any, state: Any) -> Any:
        return replace(original(sink, decider, state), done=True)

    return decide


def _no_abort(sink: Any, state: Any, decider: Any, counts: Any = None) -> Any:
    return sink.journal.begun_since(state.begun)


def _sends_again(original: Any) -> Any:
    def init(self: Any, *args: Any, sends_again: bool = True, **kwargs: Any) -> None:
        original(self, *args, sends_again=True, **kwargs)

    return init


def _begun_later(self: Any, partitions: Any) -> None:
    OpenTransaction._add_new_partitions(self, partitions)
    self._sink.journal.write_begun(self._with(partitions))


def _commit_without_outcome(original: Any) -> Any:
    def commit(self: Any, transactions: Any) -> Any:
        original(self, transactions)
        return []

    return commit


MUTATIONS: dict[str, Callable[[], list[Patch]]] = {
    "no marker": lambda: [(Journal, "write_marker", lambda *_: None)],
    "markers are not read": lambda: [(recovery, "_require_markers", _markers_ignored)],
    "answers to commits are ignored": lambda: [
        (Coordinators, "commit_all", _commit_without_outcome(Coordinators.commit_all))
    ],
    "no fence is read": lambda: [(Journal, "_fenced_state", _without_fence)],
    "no exclusive producer": lambda: [
        (JournalTopic, "writer", _writer_without_exclusion(JournalTopic.writer))
    ],
    "buffers are not made ready": lambda: [(abort, "_make_ready", lambda *_: None)],
    "partitions are read once": lambda: [(abort, "_READINGS", 1)],
    "writer is not alone at an abort": lambda: [(Decider, "require_alone", lambda _: None)],
    "transactions need not be open": lambda: [(epochs, "_require_open", lambda *_: None)],
    "no begun transaction is aborted": lambda: [
        (epochs, "abort_begun", _no_abort),
        (recovery, "abort_begun", _no_abort),
    ],
    "a decision counts as committed": lambda: [(epochs, "_decide", _done_at_once(epochs._decide))],
    "a takeover does not commit": lambda: [(epochs, "finish", lambda sink, decider, state: state)],
    "other runs are not refused": lambda: [(epochs, "refuse_others", lambda *_: None)],
    "messages of transactions are sent again": lambda: [
        (Producer, "__init__", _sends_again(Producer.__init__))
    ],
    "a transaction is recorded after its partitions": lambda: [
        (task._RecordedTransaction, "_add_new_partitions", _begun_later)
    ],
    "no transaction is recorded": lambda: [
        (task._RecordedTransaction, "_add_new_partitions", OpenTransaction._add_new_partitions)
    ],
    "a task sends after its time": lambda: [(OpenTransaction, "require_time", lambda _: None)],
}
