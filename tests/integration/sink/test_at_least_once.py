"""Delivery at least once, checked at the wire: a task ends with the last receipt, and fails without it.

The number of unconfirmed bytes is bounded.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.forwarder import Forwarder, SeenCommand
from integration.official import await_true, messages_of

from pyspark_pulsar.client.broker.connection.commands import SEND_RECEIPT
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.commit_message import RowsStored
from pyspark_pulsar.write.guarantee import delivery_of_job
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows

BATCH_BYTES = 10_000
BATCHES = 60
COLUMNS = pa.schema([pa.field("value", pa.string())])


class Withheld:
    """A watcher that holds back all receipts until `release`."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def __call__(self, seen: SeenCommand) -> None:
        if seen.command == SEND_RECEIPT:
            self.release.wait(60)


class Batches:
    """Record batches that count how many of them the sink has pulled."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for number in range(BATCHES):
            self.taken += 1
            yield pa.record_batch([pa.array([f"{number}:".ljust(BATCH_BYTES, "x")])], schema=COLUMNS)


def options(service_url: str, topic: str, **fields: object) -> WriteOptions:
    given = WriteOptions(service_url=service_url, topic=topic, compression_type="NONE")
    return replace(given, max_pending_bytes=5 * BATCH_BYTES, **fields)  # type: ignore[arg-type]


def test_unconfirmed_bytes_are_bounded_and_the_last_receipt_is_waited_for(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    target = settle_target(options(pulsar.service_url, topic), COLUMNS)
    withheld, batches = Withheld(), Batches()
    with Forwarder(pulsar.service_url, withheld) as forwarder, ThreadPoolExecutor(1) as pool:
        task = pool.submit(write_rows, options(forwarder.service_url, topic), target, iter(batches))
        await_true("the limit", lambda: batches.taken >= 5)
        assert threading.Event().wait(1.0) is False
        assert batches.taken <= 7
        assert not task.done()
        withheld.release.set()
        assert task.result(60) == BATCHES
    stored = Counter(int(message.data().partition(b":")[0]) for message in messages_of(official, topic))
    assert stored == Counter(range(BATCHES))


def test_a_missing_receipt_fails_the_task(pulsar: LocalPulsar, topic: str) -> None:
    target = settle_target(options(pulsar.service_url, topic), COLUMNS)
    withheld = Withheld()
    with Forwarder(pulsar.service_url, withheld) as forwarder:
        given = options(forwarder.service_url, topic, send_timeout_ms=1_500)
        with pytest.raises(DeadlineExceeded, match="expected a receipt within"):
            write_rows(given, target, iter(Batches()))
        withheld.release.set()


def test_guarantee_none_does_not_wait_for_the_last_receipts(
    pulsar: LocalPulsar, official: official_client.Client, topic: str
) -> None:
    target = settle_target(options(pulsar.service_url, topic), COLUMNS)
    withheld = Withheld()
    three = iter(list(Batches())[:3])
    with Forwarder(pulsar.service_url, withheld) as forwarder:
        given = options(forwarder.service_url, topic, delivery_guarantee="none")
        assert delivery_of_job(given).write(target, three) == RowsStored(3)
        withheld.release.set()
    await_true("the rows", lambda: sum(1 for _ in messages_of(official, topic)) == 3)
