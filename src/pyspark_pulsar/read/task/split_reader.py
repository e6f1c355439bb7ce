"""The work of one Spark task: read the entries of its splits, and decode them to Arrow. Executor only."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

import pyarrow as pa

from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.codec.decode import ChunkedMessages, EntryDecoder
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import PartitionAccess, RowLocation
from pyspark_pulsar.read.sources.consumers_ahead import ConsumersAhead
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.audit import audit_split
from pyspark_pulsar.read.task.fallback import RangeReader
from pyspark_pulsar.read.task.read_counts import ReadCounts
from pyspark_pulsar.read.task.split_decoding import SplitDecoding
from pyspark_pulsar.read.task.transactions import TopicTransactions
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.task_context import Attempt, report_counts


def read_splits(
    options: ReadOptions, schema: ReadSchema, splits: Sequence[Split], attempt: Attempt | None = None
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the record batches of each split in turn, over the same connections. Close the generator to stop early.

    Consumers for the next splits start early, so that the task does not wait for brokers between splits. After the last
    split, the counts of each location are sent to the jar. The errors of `read_split` are raised.
    """
    show_warnings()
    logged: set[tuple[str, str]] = set()
    counts = ReadCounts()
    with pooled_client(options) as client, closing(ConsumersAhead(client, options, splits)) as ahead:
        for number, split in enumerate(splits):
            ahead.advance(number)
            access = PartitionAccess(options, split.partition, client, ahead)
            yield from _record_batches(schema, split, access, attempt, logged=logged, counts=counts)
    report_counts(counts.by_name)


def read_split(
    options: ReadOptions,
    schema: ReadSchema,
    split: Split,
    attempt: Attempt | None = None,
    chunked: ChunkedMessages | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield record batches of `schema.output_schema` with exactly the messages of the split, in order.

    A task that Spark runs again reads the same rows. `chunked` is filled after all entries have been read. The errors
    of the client, the decoder and `audit_split` are raised.
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
    logged: set[tuple[str, str]] | None = None,
    counts: ReadCounts | None = None,
) -> Iterator[pa.RecordBatch]:
    with (
        audit_split(access.options, split, attempt) as audit,
        closing(TopicTransactions(access.options, split.partition)) as transactions,
    ):
        decoding = SplitDecoding(schema, split, access, transactions)
        reader = RangeReader(access, audit, logged)
        decoder: EntryDecoder | None = None
        # All ranges of a table are before the ranges of entries. So no decoded row waits while rows of the table are
        # yielded.
        for split_range in split.ranges:
            if isinstance(split_range.location, RowLocation):
                yield from reader.rows(split_range, decoding.request, decoding.make_decoder)
            else:
                decoder = decoder or decoding.make_decoder(split.start, split.end)
                yield from reader.batches(split_range, decoder.decode)
        if decoder is not None:
            yield from decoder.finish(chunked)
        if counts is not None:
            counts.take(audit.tallies)
