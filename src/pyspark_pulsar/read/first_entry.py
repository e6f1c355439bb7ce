"""The first entry at a position: how old it is, and how much it holds. Driver only."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.consumer import subscribe
from pyspark_pulsar.client.transport import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema
from pyspark_pulsar.topic import TopicPartition

_TAKE_SECONDS: Final = 1.0
_PUBLISH_TIME: Final = "__publishTime"
_EPOCH: Final = dt.datetime.fromtimestamp(0, dt.UTC)


@dataclass(frozen=True, slots=True)
class FirstEntry:
    """An entry that consumers can see."""

    position: Position
    messages: int
    bytes: int
    """As stored, compressed."""
    published_ms: int | None
    """Of its first message at the position or behind it: Unix milliseconds by the producer's clock. None where the
    entry does not tell: a chunk that is not the last, damage."""


def first_entry(client: BrokerClient, partition: TopicPartition, position: Position) -> FirstEntry | None:
    """One attempt; None when none comes within a second. Raises `ConnectionFailed`, `PermissionDenied`."""
    consumer = subscribe(client, partition.name, position)
    try:
        consumer.allow(1)
        entries = consumer.take(_TAKE_SECONDS)
    finally:
        consumer.close()
    if entries is None or entries.first is None or len(entries) == 0:
        return None
    ledger, entry = entries.first
    count = len(entries)
    return FirstEntry(
        Position(ledger, entry),
        -(-entries.num_messages // count),
        -(-entries.nbytes // count),
        _published(entries, partition, position),
    )


def _published(entries: EntryBatch, partition: TopicPartition, position: Position) -> int | None:
    """Takes the entries over."""
    try:
        decoder = EntryDecoder(
            _schema(),
            topic=str(partition.topic),
            partition=partition.partition,
            fetch_schema=lambda _: None,
            start=position.as_tuple(),
            intake=Intake(crypto_failure_action="CONSUME", trimmed_is_loss=True),
        )
        for batch in itertools.chain(decoder.decode(entries), decoder.finish()):
            time = batch.column(_PUBLISH_TIME)[0].as_py()
            return int((time - _EPOCH) / dt.timedelta(milliseconds=1))
    except PulsarError:
        # Whoever reads the entry will say what is wrong with it.
        return None
    return None


def _schema() -> ReadSchema:
    return resolve_read_schema(None, topic="", columns=[_PUBLISH_TIME])
