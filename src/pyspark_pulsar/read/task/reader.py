"""What one Spark task does: open a split's entries and decode them to Arrow. Executor only."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.codec.decode import NO_VERSION, EntryDecoder
from pyspark_pulsar.codec.intake import Intake, TransactionsUnknown
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.sources.chunk_search import earlier_runs
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.audit import SplitAudit, audited
from pyspark_pulsar.read.task.fallback import range_entries
from pyspark_pulsar.read.task.schema_cache import SCHEMA_VERSIONS
from pyspark_pulsar.read.task.transactions import TopicTransactions
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.task_context import Attempt
from pyspark_pulsar.topic import TopicName, TopicPartition

_log: Final = logging.getLogger(__name__)


def read_split(
    options: ReadOptions, schema: ReadSchema, split: Split, attempt: Attempt | None = None
) -> Iterator[pa.RecordBatch]:
    """Record batches of exactly `schema.output_schema` with exactly the split's messages, in order.

    A task that Spark runs again reads the same rows. Raises the errors of the client and the decoder, and of `audited`.
    """
    show_warnings()
    topic = split.partition.topic
    with (
        audited(options, split, attempt) as audit,
        BrokerClient(options) as client,
        closing(TopicTransactions(options, split.partition)) as transactions,
    ):

        def ask(name: TopicName, version: bytes) -> SchemaInfo | None:
            return client.schema(name, version if version != NO_VERSION else None)

        def fetch_schema(version: bytes) -> SchemaInfo | None:
            planned = (schema.info, schema.own_schemas)
            return SCHEMA_VERSIONS.fetch(options.service_url, topic, planned, version, ask)

        decoder = EntryDecoder(
            schema,
            topic=str(topic),
            partition=split.partition.index,
            fetch_schema=fetch_schema,
            batch_rows=options.batch_rows,
            start=split.start.as_tuple(),
            end=split.end.as_tuple(),
            intake=split_intake(options, split, transactions),
            mode=options.mode,
            service_url=options.service_url,
            row_filter=RowFilter(split.window, keys=split.keys, slots=split.slots),
        )
        for split_range in split.parts():
            yield from _range_batches(client, options, split.partition, split_range, decoder, audit)
        yield from decoder.finish()


def _range_batches(
    client: BrokerClient,
    options: ReadOptions,
    partition: TopicPartition,
    split_range: SplitRange,
    decoder: EntryDecoder,
    audit: SplitAudit,
    *,
    by_broker: bool = False,
) -> Generator[pa.RecordBatch, None, None]:
    """The full batches that the piece completes; with `readFrom=auto` from the broker alone, from where nobody else
    knows which transactions were aborted."""
    try:
        with closing(
            range_entries(client, options, partition, split_range, audit, by_broker=by_broker)
        ) as source:
            for entries in source:
                yield from decoder.decode(entries)
    except TransactionsUnknown as unknown:
        if options.read_from != "auto":
            raise
        _log.warning("%s; the broker is read from there up to %s", unknown, split_range.end)
        rest = replace(split_range, start=Position(unknown.ledger, unknown.entry))
        audit.give_way(rest.start, f"{type(unknown).__name__}: {unknown}")
    else:
        return
    yield from _range_batches(client, options, partition, rest, decoder, audit, by_broker=True)


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
