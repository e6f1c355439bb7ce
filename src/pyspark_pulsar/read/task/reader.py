"""What one Spark task does: open the entries of its splits and decode them to Arrow. Executor only."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial

import pyarrow as pa

from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.codec.decode import NO_VERSION, ChunkedMessages, EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.columnar.reading.request import RowRequest
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.location import PartitionAccess, RowLocation
from pyspark_pulsar.read.sources.ahead import ConsumersAhead
from pyspark_pulsar.read.sources.chunk_search import earlier_runs
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.audit import audited
from pyspark_pulsar.read.task.fallback import RangeReader
from pyspark_pulsar.read.task.read_counts import ReadCounts
from pyspark_pulsar.read.task.schema_cache import SCHEMA_VERSIONS, Incarnation
from pyspark_pulsar.read.task.transactions import TopicTransactions
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.task_context import Attempt
from pyspark_pulsar.spark.task_counts import hand_over
from pyspark_pulsar.topic import TopicName


def read_splits(
    options: ReadOptions, schema: ReadSchema, splits: Sequence[Split], attempt: Attempt | None = None
) -> Generator[pa.RecordBatch, None, None]:
    """The record batches of each split in turn, over the same connections; what a broker takes to begin with the next
    ones is not waited for. Close it when not all of it is wanted. Where all of it was, what was read from where is
    handed to the jar. Raises what `read_split` does."""
    show_warnings()
    told: set[tuple[str, str]] = set()
    counts = ReadCounts()
    with pooled_client(options) as client, closing(ConsumersAhead(client, options, splits)) as ahead:
        for number, split in enumerate(splits):
            ahead.advance(number)
            access = PartitionAccess(options, split.partition, client, ahead)
            yield from _record_batches(schema, split, access, attempt, told=told, counts=counts)
    hand_over(counts.by_name)


def read_split(
    options: ReadOptions,
    schema: ReadSchema,
    split: Split,
    attempt: Attempt | None = None,
    chunked: ChunkedMessages | None = None,
) -> Iterator[pa.RecordBatch]:
    """Record batches of exactly `schema.output_schema` with exactly the split's messages, in order.

    A task that Spark runs again reads the same rows. `chunked` is filled when all entries were read. Raises the
    errors of the client and the decoder, and of `audited`.
    """
    show_warnings()
    with pooled_client(options) as client:
        access = PartitionAccess(options, split.partition, client)
        yield from _record_batches(schema, split, access, attempt, chunked)


def _record_batches(
    schema: ReadSchema,
    split: Split,
    access: PartitionAccess,
    attempt: Attempt | None,
    chunked: ChunkedMessages | None = None,
    told: set[tuple[str, str]] | None = None,
    counts: ReadCounts | None = None,
) -> Iterator[pa.RecordBatch]:
    options, client, topic = access.options, access.client, split.partition.topic
    with (
        audited(options, split, attempt) as audit,
        closing(TopicTransactions(options, split.partition)) as transactions,
    ):
        planned = (schema.info, schema.own_schemas)
        incarnation = Incarnation(options.identity, topic, split.end.ledger, planned)

        def ask(name: TopicName, version: bytes) -> SchemaInfo | None:
            return client.schema(name, version if version != NO_VERSION else None)

        def fetch_schema(version: bytes) -> SchemaInfo | None:
            return SCHEMA_VERSIONS.fetch(incarnation, version, ask)

        row_filter = RowFilter(split.window, keys=split.keys, slots=split.slots)

        def make_decoder(start: Position, end: Position) -> EntryDecoder:
            return EntryDecoder(
                schema,
                topic=str(topic),
                partition=split.partition.index,
                fetch_schema=fetch_schema,
                batch_rows=options.batch_rows,
                start=start.as_tuple(),
                end=end.as_tuple(),
                intake=split_intake(options, split, transactions),
                mode=options.mode,
                asker=options.identity,
                row_filter=row_filter,
            )

        reader = RangeReader(access, audit, told)
        request = RowRequest(schema, row_filter, options.mode, options.batch_rows, fetch_schema)
        decoder: EntryDecoder | None = None
        # Of a topic partition, what its table holds comes before all else, so no row waits in the decoder.
        for split_range in split.ranges:
            if isinstance(split_range.location, RowLocation):
                yield from reader.rows(split_range, request, make_decoder)
            else:
                decoder = decoder or make_decoder(split.start, split.end)
                yield from reader.batches(split_range, decoder.decode)
        if decoder is not None:
            yield from decoder.finish(chunked)
        if counts is not None:
            counts.take(audit.runs)


def split_intake(options: ReadOptions, split: Split, transactions: TopicTransactions) -> Intake:
    """Private keys from files of this executor, earlier chunks and the outcome of transactions from the broker."""
    keys = DataKeys(options.crypto_default_private_key, dict(options.crypto_private_keys))
    return Intake(
        unwrap=keys.unwrap,
        earlier=partial(earlier_runs, options, split.partition),
        aborted=transactions.aborted,
        crypto_failure_action=options.crypto_failure_action,
        max_open_chunked=options.max_pending_chunked_message,
        max_uncompressed=options.max_uncompressed_message_size,
        trimmed_is_loss=options.fail_on_data_loss
        and not (split.start.is_earliest or split.from_earliest or options.read_compacted),
    )
