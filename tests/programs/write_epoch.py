"""A program that writes and commits an epoch in two transactions, as tasks and a driver would, but without Spark.

The arguments are the service URL, the topic, the prefix of the journal, the owner, the run, the number of rows, and
transactionTimeoutMs. The topic can be several names with commas between them. The rows then name these topics in turn.

The environment variable `KILL_AT` is `Class.method:before:n` or `Class.method:after:n`. `task.function` is also valid.
The process ends with SIGKILL before or after the n-th call of the method. The variable `FORGET` removes the check by
which a later run recognizes an earlier run's decision.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from pyspark_pulsar.client.broker import transaction_coordinator
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write import target
from pyspark_pulsar.write.exactly_once import abort, epochs, journal, sink, state, task
from pyspark_pulsar.write.exactly_once.journal_names import JournalName

_SCOPES: dict[str, Any] = {
    "Coordinators": transaction_coordinator.Coordinators,
    "Journal": journal.Journal,
    "Decider": journal.Decider,
    "task": task,
    "abort": abort,
    "EmptyMessage": abort.EmptyMessage,
}


def kill_at(where: str) -> None:
    name, when, nth = where.split(":")
    owner, method = name.split(".")
    scope = _SCOPES[owner]
    plain: Callable[..., Any] = getattr(scope, method)
    calls = 0

    @functools.wraps(plain)
    def deadly(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if when == "before" and calls == int(nth):
            os.kill(os.getpid(), signal.SIGKILL)
        result = plain(*arguments, **named)
        if when == "after" and calls == int(nth):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(scope, method, deadly)


def forget() -> None:
    def forgetful(former: state.JournalState, writer: state.Writer) -> state.JournalState:
        return replace(former, writer=writer, epoch=state.NO_EPOCH, transactions=(), done=True)

    state.JournalState.taken_over_by = forgetful  # type: ignore[method-assign]


def main() -> None:
    service_url, topic, prefix, owner, run, count, timeout = sys.argv[1:]
    topics = topic.split(",")
    options = WriteOptions(
        service_url=service_url,
        topic=topic if len(topics) == 1 else None,
        delivery_guarantee="exactly-once",
        transaction_timeout_ms=int(timeout),
    )
    rows = pa.table({"value": [str(number) for number in range(int(count))]})
    if len(topics) > 1:
        turns = [topics[number // 2 % len(topics)] for number in range(int(count))]
        rows = rows.append_column("__topic", pa.array(turns))
    settled = target.settle_target(options, rows.schema)
    writer, name = state.Writer(owner, run), JournalName(topic, prefix)
    halves = [rows.take(list(range(first, int(count), 2))) for first in (0, 1)]
    batches = [half.combine_chunks().to_batches()[0] for half in halves]
    messages = [task.write_in_transaction(options, settled, name, iter([batch]), writer) for batch in batches]
    prepared = [message.prepared for message in messages if message.prepared is not None]
    with BrokerClient(options) as client:
        epochs.commit_epoch(sink.Sink.open(client, prefix), writer, 0, prepared)


if "KILL_AT" in os.environ:
    kill_at(os.environ["KILL_AT"])
if "FORGET" in os.environ:
    forget()
main()
