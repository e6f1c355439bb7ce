"""Decoding of messages that are stored in a table, by the schema of a read.

A table stores either the payload of a message, or the values of the message in columns. The columns can belong to an
older schema of the topic. The kernel decodes only entries. Therefore this module converts payloads and columns back to
entries with the schema versions and keys of the messages. Decoding these entries returns the same rows as decoding the
original messages. This module runs on executors only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar._kernel import Encoder, EntryBatch, KernelError
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import DecodeError, ProtocolError
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo
from pyspark_pulsar.schema.metadata_columns import TOMBSTONE
from pyspark_pulsar.schema.payload import PayloadSchema, columns_of
from pyspark_pulsar.schema.primitive import VALUE_COLUMN
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.schema.types.exchange import readable_type

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import SendFrames

BAD_COLUMN: Final = "__bad"
"""The column that contains the payload of a bad row, and null in all other rows."""
_KEY: Final = "__key"
_VERSION: Final = "__schemaVersion"
_ID: Final = "__messageId"
NEEDED_COLUMNS: Final = (_KEY, _VERSION, _ID)
"""The metadata columns that are needed to decode a payload, and to name the message in errors."""
_BYTES: Final = PayloadSchema("bytes")
_SIZE_BYTES: Final = 4
_MAX_MESSAGE_BYTES: Final = 1 << 30


class PayloadRows:
    """A decoder of stored messages of one topic partition, used by one task."""

    def __init__(
        self,
        schema: ReadSchema,
        *,
        topic: str,
        partition: int,
        fetch_schema: Callable[[bytes], SchemaInfo | None],
    ) -> None:
        """Create a decoder for the reader's schema.

        Args:
            schema: The schema of the read. Only the value columns of the read's output are decoded.
            topic: The full name of the topic, without the suffix of a partition.
            partition: The index of the partition; -1 for a topic without partitions.
            fetch_schema: A function that returns the registry's schema of a version, as for `EntryDecoder`.

        """
        names = frozenset(schema.value_columns.names)
        values = [field for field in schema.output_schema if field.name in names]
        self._schema = replace(
            schema,
            output_schema=pa.schema([*values, pa.field(BAD_COLUMN, pa.binary())]),
            corrupt_column=BAD_COLUMN,
        )
        self._topic = topic
        self._partition = partition
        self._fetch_schema = fetch_schema

    def decode(self, rows: pa.RecordBatch, payloads: pa.Array) -> pa.RecordBatch:
        """Decode messages that are stored as payloads. Return the value columns and `BAD_COLUMN`.

        Args:
            rows: The messages, with `NEEDED_COLUMNS`.
            payloads: The payloads of the messages, without nulls.

        Raises:
            SchemaError: The schema of the read cannot be used.

        """
        return self.decode_columns(_with_payloads(rows, payloads), _BYTES)

    def decode_columns(self, rows: pa.RecordBatch, written: PayloadSchema) -> pa.RecordBatch:
        """Decode messages that are stored as columns of another schema. Return the value columns and `BAD_COLUMN`.

        Args:
            rows: The messages, with the columns that `entries_of` accepts and `NEEDED_COLUMNS`.
            written: The schema of the stored columns, as for `entries_of`.

        Raises:
            SchemaError: The schema of the read cannot be used.
            ProtocolError: A row cannot be a message of the schema `written`.

        """
        versions = rows.column(_VERSION)
        parts: list[pa.RecordBatch] = []
        indices: list[pa.Array] = []
        for version in pc.unique(versions).to_pylist():
            is_same = pc.is_null(versions) if version is None else pc.equal(versions, version)
            chosen = pc.indices_nonzero(pc.fill_null(is_same, fill_value=False))
            parts += self._decoded(rows.take(chosen), written, version)
            indices.append(chosen)
        table = pa.Table.from_batches(parts, self._schema.output_schema).combine_chunks()
        if table.num_rows != rows.num_rows:
            raise ProtocolError(
                f"topic {self._topic}: expected one row for each of {rows.num_rows} payloads, got {table.num_rows}; "
                f"report this as a bug"
            )
        order = pc.sort_indices(pa.concat_arrays(indices))
        (batch,) = table.take(order).to_batches() or [
            pa.RecordBatch.from_pylist([], self._schema.output_schema)
        ]
        return batch

    def fail(self, rows: pa.RecordBatch, payloads: pa.Array, row: int) -> NoReturn:
        """Raise the error that a read of the original message raises, for a payload that cannot be decoded."""
        self.fail_columns(_with_payloads(rows, payloads), _BYTES, row)

    def fail_columns(self, rows: pa.RecordBatch, written: PayloadSchema, row: int) -> NoReturn:
        """Raise the error that a read of the original message raises, for a row that cannot be decoded."""
        identity, version = rows.column(_ID)[row].as_py(), rows.column(_VERSION)[row].as_py()
        entries = EntryBatch()
        for data in entries_of(rows.slice(row, 1), written, version, batching="none"):
            entries.push(identity["ledger"], identity["entry"], data)
        decoder = self._decoder("FAILFAST")
        for _ in chain(decoder.decode(entries), decoder.flush()):
            pass
        raise DecodeError(
            f"topic {self._topic}, ledger {identity['ledger']}, entry {identity['entry']}: expected a message that "
            f"can be decoded, got a message that cannot be decoded; read around the message with mode=PERMISSIVE"
        )

    def _decoder(self, mode: str) -> EntryDecoder:
        return EntryDecoder(
            self._schema,
            topic=self._topic,
            partition=self._partition,
            fetch_schema=self._fetch_schema,
            mode=mode,
        )

    def _decoded(
        self, rows: pa.RecordBatch, written: PayloadSchema, version: int | None
    ) -> Iterator[pa.RecordBatch]:
        entries, decoder = EntryBatch(), self._decoder("PERMISSIVE")
        for number, data in enumerate(entries_of(rows, written, version)):
            entries.push(0, number, data)
        yield from decoder.decode(entries)
        yield from decoder.flush()


def entries_of(
    rows: pa.RecordBatch, written: PayloadSchema, version: int | None, *, batching: str = "default"
) -> Iterator[bytes]:
    """Encode rows as messages, and yield the entries in the order of the rows, as a bookie stores entries.

    If the optional boolean column `__tombstone` is true, the row becomes a message with a null value. For a primitive
    schema, or a key-value schema with the encoding SEPARATED, a null in `value` also means a null value. For the
    encoding INLINE, nulls in both `key` and `value` mean a null value.

    Args:
        rows: The value columns of `written` in Spark's types (`ReadSchema.value_columns`), and `__key`. A missing value
            column counts as null in all rows, and a missing member of a value column also counts as null. For the
            encoding SEPARATED, the column `key` contains the key instead of `__key`. Other columns whose names begin
            with two underscores are ignored.
        written: The schema of the value columns (`ReadSchema.value`).
        version: The schema version of all messages, or None if the messages name no version.
        batching: The rule by which messages share an entry, as in `Encoder.set_producing`.

    Raises:
        ProtocolError: A row cannot be a message of the schema `written`.

    """
    columns = [pa.field(field.name, readable_type(field.type)) for field in columns_of(written)]
    if written.pair is None or not written.pair.separated:
        columns.append(pa.field(_KEY, pa.binary()))
    columns.append(pa.field(TOMBSTONE, pa.bool_()))
    arrays = [
        rows.column(field.name) if field.name in rows.schema.names else pa.nulls(rows.num_rows, field.type)
        for field in columns
    ]
    batch = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in columns])
    named = None if version is None else version.to_bytes(VERSION_BYTES, "big", signed=True)
    try:
        encoder = Encoder(batch.schema, value=written, partitions=1, max_message_bytes=_MAX_MESSAGE_BYTES)
        encoder.set_producing(batching=batching)
        encoder.set_producer(0, producer_id=0, producer_name="", next_sequence_id=0, schema_version=named)
        frames = encoder.encode(batch, 0)
    except KernelError as error:
        raise ProtocolError(
            f"rows of a table: expected columns of the schema that messages were written with, got other columns: "
            f"{error.message}; report this as a bug"
        ) from None
    for sent in frames:
        yield from _stored(sent)


def _with_payloads(rows: pa.RecordBatch, payloads: pa.Array) -> pa.RecordBatch:
    """Return rows for messages of type bytes: the payloads, and the `NEEDED_COLUMNS` of `rows`."""
    needed = [rows.column(name) for name in NEEDED_COLUMNS]
    return pa.RecordBatch.from_arrays([payloads, *needed], names=[VALUE_COLUMN, *NEEDED_COLUMNS])


def _stored(sent: SendFrames) -> Iterator[bytes]:
    """Yield the bytes that a bookie would store for each frame: all bytes after the frame's command."""
    start = 0
    for end in sent.ends:
        command = start + _SIZE_BYTES
        size = int.from_bytes(sent.frames[command : command + _SIZE_BYTES], "big")
        yield sent.frames[command + _SIZE_BYTES + size : end]
        start = end
