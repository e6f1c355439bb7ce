"""What one Spark task does: open a split's entries and decode them to Arrow. Executor only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.codec.data_keys import DataKeys
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.process_log import show_warnings
from pyspark_pulsar.read.attempt import Attempt
from pyspark_pulsar.read.audit import audited
from pyspark_pulsar.read.documents import SCHEMA_VERSIONS
from pyspark_pulsar.read.locations.look_back import earlier_runs
from pyspark_pulsar.read.locations.piece import piece_entries
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import ReadSchema


def read_split(
    options: ReadOptions, schema: ReadSchema, split: Split, attempt: Attempt | None = None
) -> Iterator[pa.RecordBatch]:
    """Record batches of exactly `schema.output_schema` with exactly the split's messages, in order.

    A task that Spark runs again reads the same rows. Raises the errors of the client and the decoder, and of `audited`.
    """
    show_warnings()
    topic = split.partition.topic
    with audited(options, split, attempt) as audit, BrokerClient(options) as client:

        def fetch_schema(version: bytes) -> SchemaInfo | None:
            return SCHEMA_VERSIONS.fetch(options.service_url, topic, schema.info, version, client.schema)

        decoder = EntryDecoder(
            schema,
            topic=str(topic),
            partition=split.partition.partition,
            fetch_schema=fetch_schema,
            batch_rows=options.batch_rows,
            start=split.start.as_tuple(),
            end=split.end.as_tuple(),
            intake=split_intake(options, split),
            mode=options.mode,
            service_url=options.service_url,
        )
        for piece in split.parts():
            for entries in piece_entries(client, options, split.partition, piece, audit):
                yield from decoder.decode(entries)
        yield from decoder.finish()


def split_intake(options: ReadOptions, split: Split) -> Intake:
    """Private keys from files of this executor, and earlier chunks from the broker."""
    keys = DataKeys(options.crypto_default_private_key, dict(options.crypto_private_keys))
    return Intake(
        unwrap=keys.unwrap,
        earlier=partial(earlier_runs, options, split.partition),
        crypto_failure_action=options.crypto_failure_action,
        max_open_chunked=options.max_pending_chunked_message,
        trimmed_is_loss=options.fail_on_data_loss
        and not (split.start.is_earliest or split.from_earliest or options.read_compacted),
    )
