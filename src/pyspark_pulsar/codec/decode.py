"""Decoders of a topic partition's entries to Arrow record batches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pyspark_pulsar._kernel import Decoder, KernelError
from pyspark_pulsar.codec.decoder_pool import DECODERS
from pyspark_pulsar.codec.intake import Intake, log_discarded_entries, report_lost_messages, supply
from pyspark_pulsar.codec.kernel_errors import read_error, version_error, version_text, without_read_around
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo
from pyspark_pulsar.schema.payload import PayloadSchema, written_schema
from pyspark_pulsar.schema.primitive import RECORD_TYPES
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.schema.whole_columns import columns_are_whole

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import EntryBatch, Position

DEFAULT_BATCH_ROWS: Final = 16384
NO_VERSION: Final = b""
"""The schema version of messages that name no version."""

_BAD_ROWS: Final = {"FAILFAST": "fail", "PERMISSIVE": "null", "DROPMALFORMED": "drop"}
BAD_ROW_OUTCOMES: Final = {"PERMISSIVE": "have no value", "DROPMALFORMED": "were left out"}

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderOptions:
    """The options of a kernel decoder. The kernel reads the attributes, and `_kernel.pyi` documents each attribute."""

    output_schema: pa.Schema
    topic: str
    partition: int
    value: PayloadSchema
    batch_rows: int = DEFAULT_BATCH_ROWS
    start: Position | None = None
    end: Position | None = None
    row_filter: RowFilter = field(default_factory=RowFilter)
    bad_rows: str = "fail"
    corrupt_column: str | None = None
    payload_column: str | None = None
    intake: Intake = field(default_factory=Intake)


@dataclass(slots=True)
class ChunkedMessages:
    """The names of the chunked messages in a range. A name is unique within its topic partition."""

    open: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Messages with their first chunk in the range and their last chunk after the range. The value is the ledger id and
    entry id of the first chunk."""
    ended: set[bytes] = field(default_factory=set)
    """Messages with their last chunk in the range, and messages that will never be complete."""

    def add(self, name: bytes, first: tuple[int, int] | None) -> None:
        """Add a message to `open`, with the ids in `first`. If `first` is None, add the message to `ended`."""
        if first is None:
            self.ended.add(name)
        else:
            self.open[name] = first


class EntryDecoder:
    """A decoder of one split on an executor, used by one thread.

    Every batch has exactly the columns of `ReadSchema.output_schema`, and 1 to `batch_rows` rows. After any error
    except `TransactionsUnknown`, the decoder cannot be used.
    """

    def __init__(
        self,
        schema: ReadSchema,
        *,
        topic: str,
        partition: int,
        fetch_schema: Callable[[bytes], SchemaInfo | None],
        batch_rows: int = DEFAULT_BATCH_ROWS,
        start: Position | None = None,
        end: Position | None = None,
        mode: str = "FAILFAST",
        query_identity: Hashable | None = None,
        intake: Intake | None = None,
        row_filter: RowFilter | None = None,
    ) -> None:
        """Create a decoder, or reuse the decoder of an earlier split of the same query in this process.

        Args:
            schema: The schema of the read.
            topic: The full name of the topic, without the suffix of a partition.
            partition: The index of the partition; -1 for a topic without partitions.
            fetch_schema: A function that returns the registry's schema of a version, or None if the registry has no
                schema. For `NO_VERSION`, the function returns the latest schema. The decoder calls the function between
                batches, at most once per version.
            batch_rows: Number of rows in a full batch.
            start: The first position of the range, inclusive, or None if the range has no start.
            end: The position after the range, or None if the range has no end.
            mode: The treatment of bad rows: a value of the option `mode`.
            query_identity: The role and the cluster of the query. Only queries of the same role and cluster share
                decoders. With None, no decoder is reused.
            intake: The sources of data keys, earlier chunks and transaction outcomes.
            row_filter: The filter that selects the messages to decode. Rows outside the range are dropped too.

        Raises:
            SchemaError: The schema of the read cannot be used.

        """
        self._schema = schema
        self._mode = mode
        self._row_filter = row_filter or RowFilter()
        self._full_name = topic if partition < 0 else f"{topic}-partition-{partition}"
        self._prefix = f"topic {self._full_name}"
        self._intake = intake or Intake()
        self._fetch_schema = fetch_schema
        self._key: Hashable = query_identity and (
            query_identity,
            topic,
            schema,
            batch_rows,
            mode,
            *self._intake.settings,
        )
        idle = DECODERS.take(self._key) if self._key else None
        if idle is not None and not idle.serves(fetch_schema):
            idle = None
        self._known_schemas: dict[bytes, SchemaInfo | None] = {} if idle is None else dict(idle.known_schemas)
        """The answers of `fetch_schema` for the versions that the decoder knows."""
        try:
            if idle is not None:
                idle.decoder.rewind(partition, start, end, self._row_filter)
            self._decoder = (
                idle.decoder
                if idle is not None
                else Decoder(
                    DecoderOptions(
                        output_schema=schema.output_schema,
                        topic=topic,
                        partition=partition,
                        value=schema.value,
                        batch_rows=batch_rows,
                        start=start,
                        end=end,
                        row_filter=self._row_filter,
                        bad_rows=_BAD_ROWS[mode],
                        corrupt_column=schema.corrupt_column,
                        payload_column=schema.payload_column,
                        intake=self._intake,
                    )
                )
            )
            if schema.keeps_all_payloads:
                self._decoder.keep_payloads(None)
        except KernelError as error:
            raise read_error(error, topic=self._full_name) from None

    def decode(self, entries: EntryBatch) -> Iterator[pa.RecordBatch]:
        """Accept all entries, and return an iterator over the record batches that are now full.

        Exhaust the iterator before the next call. All errors contain the topic and the position of the message.

        Raises:
            CorruptEntryError: An entry is damaged.
            DecodeError: A message does not fit its schema.
            UnsupportedEntryError: This version of the package cannot decode a message.
            DecryptionError: A message cannot be decrypted.
            DataLossError: Retention has removed chunks of a message.
            SchemaError: A schema version cannot be resolved.
            TransactionsUnknown: The outcome of a transaction is unknown. The error contains the first dropped entry.
                Read this entry and all later entries from the broker.

        """
        try:
            for version in self._decoder.unknown_versions(entries):
                self._learn(version)
            self._decoder.push(entries)
        except KernelError as error:
            raise read_error(error, topic=self._full_name) from None
        return self._batches(flush=False)

    def finish(self, chunked: ChunkedMessages | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the batches that remain after the last call of `decode`. This method raises the errors of `decode`.

        After the last batch, the method logs the number of bad messages, and adds the chunked messages of the range to
        `chunked`. The kernel's decoder returns to the pool.
        """
        yield from self.flush()
        if chunked is not None:
            for name, first in self._decoder.chunked_messages():
                chunked.add(name, first)
        self._log_bad_rows()
        log_discarded_entries(self._decoder, self._full_name)
        if self._key:
            DECODERS.give_back(self._key, self._decoder, self._known_schemas)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Return an iterator over the batches that remain after the last `decode`, with the errors of `decode`."""
        return self._batches(flush=True)

    def learn(self, version: bytes) -> None:
        """Add a schema version, so that messages with this version can be decoded.

        Raises:
            SchemaError: The registry lacks the version, or the version cannot be resolved to the reader's schema.

        """
        written = self._written(version) if version else self._unnamed()
        own, reader = self._schema.value.value_type, self._schema.info
        why = f"written as {written.value_type}, cannot be resolved to the reader's {own}"
        try:
            if written.value_type == own:
                self._decoder.add_writer_schema(version, written)
                if self._schema.payload_column is not None and not self._is_whole(version, written):
                    self._decoder.keep_payloads(version)
                return
        except KernelError as error:
            why = error.message
        raise version_error(why, topic=self._full_name, version=version, reader=reader)

    def _learn(self, version: bytes) -> None:
        """Add a schema version. If the version is lost or cannot be resolved, its messages become bad rows.

        An unusable version raises no error here, because the decoder does not always need the schema. All messages of
        the version can be invisible, filtered out, or without a value.
        """
        try:
            self.learn(version)
        except SchemaError as fault:
            # `read_error` puts the topic before this text again.
            text = str(fault).removeprefix(f"{self._prefix}: ").removeprefix(f"{self._prefix}, ")
            self._decoder.refuse_version(version, text)

    def _written(self, version: bytes) -> PayloadSchema:
        # A producer can put any bytes into the version, but the registry's versions are numbers of eight bytes.
        info = None
        if len(version) in (0, VERSION_BYTES):
            info = self._known_schemas[version] = self._fetch_schema(version)
        if info is None:
            expected = (
                f"schema version {version_text(version)}, which messages name"
                if version
                else "a schema, because messages name no version"
            )
            raise SchemaError(
                f"topic {self._full_name}: expected the registry to contain {expected}, got none; register the schema "
                "again, start the read after these messages, or read around them with mode=PERMISSIVE"
            )
        return written_schema(info, topic=f"{self._full_name}, schema version {version_text(version)}")

    def _is_whole(self, version: bytes, written: PayloadSchema) -> bool:
        """Return whether the reader's columns can contain all values of messages with this version."""
        info = self._schema.info if version else None
        own = None if info is None else written_schema(info, topic=self._full_name)
        return columns_are_whole(self._schema.value, written, own)

    def _unnamed(self) -> PayloadSchema:
        """Return the schema of messages that name no version.

        The result is the topic's current schema. The reader's schema can differ from the topic's schema if the query
        uses `.schema(...)` or reads several topics.
        """
        if self._schema.own_schemas:
            return self._written(NO_VERSION)
        info = self._schema.info
        if info is None or info.type not in RECORD_TYPES:
            return self._schema.value
        return written_schema(info, topic=self._full_name)

    def _log_bad_rows(self) -> None:
        rows, first = self._decoder.bad_rows
        if rows and first is not None:
            fault = without_read_around(str(read_error(first, topic=self._full_name)))
            _log.warning(
                "topic %s: messages that did not decode and %s (mode=%s): %d; the first: %s",
                self._full_name, BAD_ROW_OUTCOMES[self._mode], self._mode, rows,
                fault.removeprefix(f"{self._prefix}, "),
            )  # fmt: skip

    def _batches(self, *, flush: bool) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = self._decoder.next_batch(flush)
                supplied = batch is None and supply(self._decoder, self._intake, self._full_name)
            except KernelError as error:
                raise read_error(error, topic=self._full_name) from None
            report_lost_messages(self._decoder, self._intake, self._full_name)
            if batch is not None:
                yield pa.record_batch(batch)
            elif not supplied:
                return


def check_readable(schema: ReadSchema, topic: TopicName, info: SchemaInfo) -> None:
    """Check whether `schema` can read messages of `topic` that were written with the schema `info`.

    The check compares only the schemas, and runs on the driver.

    Raises:
        SchemaError: The messages cannot be read.

    """
    EntryDecoder(schema, topic=str(topic), partition=-1, fetch_schema=lambda _: info).learn(
        info.version or b"?"
    )
