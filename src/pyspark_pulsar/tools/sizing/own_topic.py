"""Measurement of the cost of a topic's messages, by fetching and decoding some of the messages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.codec.decode import NO_VERSION, EntryDecoder
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.batch.batch_plan import ranges_now
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.location import PartitionAccess
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.tools.sizing.workload import FORMATS

_ENOUGH_BYTES: Final = 256 << 20
_LEAST_MESSAGES: Final = 100_000
"""The smallest number of messages for which the CPU time of subscribing is negligible."""


@dataclass(frozen=True, slots=True)
class TopicSample:
    """The mean size and cost of the messages that were read, and the format of these messages."""

    messages: int
    message_bytes: float
    """The mean stored size of a message, in bytes."""
    entry_messages: float
    message_cpu: float | None
    """CPU seconds to fetch and decode one message with all columns of the read.

    None if fewer than `_LEAST_MESSAGES` messages were read.
    """
    format: str
    """The format of the values, which is a member of `FORMATS`."""
    columns: int


@dataclass(slots=True)
class _Sum:
    entries: int = 0
    messages: int = 0
    size: int = 0

    def add(self, batch: EntryBatch) -> None:
        self.entries += len(batch)
        self.messages += batch.num_messages
        self.size += batch.nbytes


def sample_topic(options: ReadOptions, seconds: float = 10.0) -> TopicSample:
    """Read messages from the start of a batch's range, and return the mean size and cost of these messages.

    The measured CPU time includes all threads of this process, so the process must do nothing else.

    Args:
        options: The options of the batch.
        seconds: The longest duration, in seconds.

    Raises:
        OptionError: The range has no messages.
        PulsarError: An error of `plan_batch` or of the decoder.

    """
    schema = resolve_source_schema(options)
    requests = [request for request in ranges_now(options) if not request.is_empty]
    total = _Sum()
    ends = time.monotonic() + seconds
    with BrokerClient.for_planning(options) as client:
        for request in requests[:1]:
            # Connecting is not part of the cost of a message.
            client.retrying(partial(client.owner_connection, request.partition.name))
        began = time.process_time()
        for request in requests:
            _read(options, schema, client, request, total, ends)
            if _is_enough(total, ends):
                break
        cpu = time.process_time() - began
    if total.messages == 0:
        raise OptionError(
            "topic: expected messages to measure, got an empty range; choose a topic and options with messages, or "
            "replace --topic by --message-bytes"
        )
    return TopicSample(
        total.messages,
        max(1.0, total.size / total.messages),
        max(1.0, total.messages / total.entries),
        cpu / total.messages if total.messages >= _LEAST_MESSAGES else None,
        _format(schema.info),
        len(schema.output_schema),
    )


def _read(
    options: ReadOptions,
    schema: ReadSchema,
    client: BrokerClient,
    request: RangeRequest,
    total: _Sum,
    ends: float,
) -> None:
    topic = request.partition.topic

    def fetch(version: bytes) -> SchemaInfo | None:
        return client.schema(topic, version if version != NO_VERSION else None)

    decoder = EntryDecoder(
        schema,
        topic=str(topic),
        partition=request.partition.index,
        fetch_schema=fetch,
        start=request.start.as_tuple(),
        end=request.end.as_tuple(),
        mode="DROPMALFORMED",
    )
    access = PartitionAccess(options, request.partition, client)
    with closing(FromBroker().open(access, request.start, request.end)) as batches:
        for batch in _bounded(batches, total, ends):
            for _ in decoder.decode(batch):
                pass


def _bounded(batches: Iterator[EntryBatch], total: _Sum, ends: float) -> Iterator[EntryBatch]:
    for batch in batches:
        total.add(batch)
        yield batch
        if _is_enough(total, ends):
            return


def _is_enough(total: _Sum, ends: float) -> bool:
    return total.size >= _ENOUGH_BYTES or time.monotonic() >= ends


def _format(info: SchemaInfo | None) -> str:
    """Return the member of `FORMATS` whose costs of encoding are closest to the costs of this schema."""
    if info is None or info.type in (SchemaType.NONE, SchemaType.BYTES):
        return "BYTES"
    if info.type is SchemaType.PROTOBUF:
        return "PROTOBUF_NATIVE"
    return info.type.name if info.type.name in FORMATS else "AVRO"
