"""Payloads that a table keeps of single messages, decoded by a reader's schema as the messages themselves would be.

The kernel decodes entries. So the payloads become entries again, of the messages' schema versions and keys: what comes
out is what decoding the messages gives. Executor only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar._kernel import Encoder, EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import DecodeError, ProtocolError
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.primitive import VALUE_COLUMN
from pyspark_pulsar.schema.read_schema import ReadSchema

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import SendFrames

BAD_COLUMN: Final = "__bad"
"""The column with the payloads of rows that do not decode, null in the others."""
_KEY: Final = "__key"
_VERSION: Final = "__schemaVersion"
_ID: Final = "__messageId"
NEEDED_COLUMNS: Final = (_KEY, _VERSION, _ID)
"""The metadata columns without which a payload cannot be decoded, or an error cannot name the message."""
_BYTES: Final = PayloadSchema("bytes")
_SIZE_BYTES: Final = 4
_MAX_MESSAGE_BYTES: Final = 1 << 30


class PayloadRows:
    """Decodes payloads of one topic partition. Used by one task."""

    def __init__(
        self,
        schema: ReadSchema,
        *,
        topic: str,
        partition: int,
        fetch_schema: Callable[[bytes], SchemaInfo | None],
    ) -> None:
        """Take the reader's schema.

        Args:
            schema: The schema of the read, of whose output only the value columns are decoded.
            topic: The full name without partition suffix.
            partition: The index of the partition; -1 for a topic without partitions.
            fetch_schema: Returns the registry's schema of a version, as `EntryDecoder` takes it.

        """
        values = [field for field in schema.output_schema if field.name in schema.value_columns.names]
        self._schema = replace(
            schema,
            output_schema=pa.schema([*values, pa.field(BAD_COLUMN, pa.binary())]),
            corrupt_column=BAD_COLUMN,
        )
        self._topic = topic
        self._partition = partition
        self._fetch_schema = fetch_schema

    def decode(self, rows: pa.RecordBatch, payloads: pa.Array) -> pa.RecordBatch:
        """Return the value columns of each row, and `BAD_COLUMN`.

        Args:
            rows: The messages, with `NEEDED_COLUMNS`.
            payloads: Their payloads; none is null.

        Raises:
            SchemaError: A version that the registry should hold is lost.

        """
        versions = rows.column(_VERSION)
        parts: list[pa.RecordBatch] = []
        indices: list[pa.Array] = []
        for version in pc.unique(versions).to_pylist():
            is_same = pc.is_null(versions) if version is None else pc.equal(versions, version)
            chosen = pc.indices_nonzero(pc.fill_null(is_same, fill_value=False))
            keys = rows.column(_KEY).take(chosen)
            parts += self._decoded(payloads.take(chosen), keys, version)
            indices.append(chosen)
        table = pa.Table.from_batches(parts, self._schema.output_schema).combine_chunks()
        if table.num_rows != rows.num_rows:
            raise ProtocolError(
                f"topic {self._topic}: expected {rows.num_rows} rows of as many payloads, got {table.num_rows}; please "
                f"report this"
            )
        order = pc.sort_indices(pa.concat_arrays(indices))
        (batch,) = table.take(order).to_batches() or [
            pa.RecordBatch.from_pylist([], self._schema.output_schema)
        ]
        return batch

    def fail(self, rows: pa.RecordBatch, payloads: pa.Array, row: int) -> NoReturn:
        """Raise the error of one message that does not decode, as a read of the message raises it."""
        identity, version = rows.column(_ID)[row].as_py(), rows.column(_VERSION)[row].as_py()
        entries = EntryBatch()
        keys = rows.column(_KEY).slice(row, 1)
        for data in _entries(payloads.slice(row, 1), keys, version, batching="none"):
            entries.push(identity["ledger"], identity["entry"], data)
        decoder = self._decoder("FAILFAST")
        for _ in chain(decoder.decode(entries), decoder.flush()):
            pass
        raise DecodeError(
            f"topic {self._topic}, ledger {identity['ledger']}, entry {identity['entry']}: expected a message that "
            f"decodes, got one that does not; read around it with mode=PERMISSIVE"
        )

    def _decoder(self, mode: str) -> EntryDecoder:
        return EntryDecoder(
            self._schema,
            topic=self._topic,
            partition=self._partition,
            fetch_schema=self._fetch_schema,
            mode=mode,
        )

    def _decoded(self, payloads: pa.Array, keys: pa.Array, version: int | None) -> Iterator[pa.RecordBatch]:
        entries, decoder = EntryBatch(), self._decoder("PERMISSIVE")
        for number, data in enumerate(_entries(payloads, keys, version)):
            entries.push(0, number, data)
        yield from decoder.decode(entries)
        yield from decoder.flush()


def _entries(
    payloads: pa.Array, keys: pa.Array, version: int | None, batching: str = "default"
) -> Iterator[bytes]:
    """Yield entries with these messages, in order."""
    schema = pa.schema([pa.field(VALUE_COLUMN, pa.binary()), pa.field(_KEY, pa.binary())])
    encoder = Encoder(schema, value=_BYTES, partitions=1, max_message_bytes=_MAX_MESSAGE_BYTES)
    encoder.set_producing(batching=batching)
    named = None if version is None else version.to_bytes(VERSION_BYTES, "big", signed=True)
    encoder.set_producer(0, producer_id=0, producer_name="", next_sequence_id=0, schema_version=named)
    batch = pa.RecordBatch.from_arrays([payloads, keys], schema=schema)
    for sent in encoder.encode(batch, 0):
        yield from _stored(sent)


def _stored(sent: SendFrames) -> Iterator[bytes]:
    """Yield what a bookie would store of each frame: all behind its command."""
    start = 0
    for end in sent.ends:
        command = start + _SIZE_BYTES
        size = int.from_bytes(sent.frames[command : command + _SIZE_BYTES], "big")
        yield sent.frames[command + _SIZE_BYTES + size : end]
        start = end
