"""Record batches of a DataFrame to SEND frames for the partitions of one topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar._kernel import Encoder, KernelError
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.codec.kernel_errors import write_error
from pyspark_pulsar.codec.public_keys import DataKey, new_data_key
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.metadata_columns import TOMBSTONE
from pyspark_pulsar.schema.write.write_schema import WriteSchema

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import SendFrames

DEFAULT_BATCHING_MAX_MESSAGES: Final = 1000
DEFAULT_BATCHING_MAX_BYTES: Final = 128 * 1024
DEFAULT_MAX_MESSAGE_BYTES: Final = 5 * 1024 * 1024

_BROKERS_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Producing:
    """`batching` is default, key or none; `chunk_bytes` None means that nothing is cut into chunks, else the kernel
    takes the broker's limit where that is less. `tombstones`: see option `writeTombstones`; `key_column` makes none."""

    batching: str = "default"
    chunk_bytes: int | None = None
    hashing: str = "JavaStringHash"
    tombstones: bool = False
    key_column: str | None = None
    data_key: DataKey | None = None


def producing(options: WriteOptions) -> Producing:
    """For one encoder, as its data key is for no other. Executor only. Raises what `new_data_key` does."""
    chunk_bytes = (options.chunk_max_message_size or _BROKERS_LIMIT) if options.chunking_enabled else None
    return Producing(
        batching=options.batching if options.batching_enabled else "none",
        chunk_bytes=chunk_bytes,
        hashing=options.hashing_scheme,
        tombstones=options.write_tombstones,
        key_column=options.key_column,
        data_key=new_data_key(options),
    )


class BatchEncoder:
    """Encodes the rows of one task attempt on an executor; used by one thread."""

    def __init__(
        self,
        schema: WriteSchema,
        *,
        topic: str,
        partitions: int,
        compression: str = "NONE",
        batching_max_messages: int = DEFAULT_BATCHING_MAX_MESSAGES,
        batching_max_bytes: int = DEFAULT_BATCHING_MAX_BYTES,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        producing: Producing | None = None,
        digests: bool = False,
    ) -> None:
        """`topic` is the full name without partition suffix; `partitions` is 1 when it is not partitioned.

        `compression` is NONE, LZ4, ZLIB, ZSTD or SNAPPY. An entry holds at most `batching_max_messages`
        messages and about `batching_max_bytes` uncompressed bytes, unless one message is larger;
        `max_message_bytes` is the broker's limit. `digests`: keep `row_digest`. Raises SchemaError.
        """
        self._schema = schema
        self._topic = topic
        producing = producing or Producing()
        self._tombstones = producing.tombstones and "__key" in schema.input_schema.names
        self._key_column = producing.key_column
        self._input_schema = schema.input_schema
        if self._tombstones:
            self._input_schema = schema.input_schema.append(pa.field(TOMBSTONE, pa.bool_()))
        try:
            self._encoder = Encoder(
                self._input_schema,
                value=schema.value,
                partitions=partitions,
                compression=compression,
                batching_max_messages=batching_max_messages,
                batching_max_bytes=batching_max_bytes,
                max_message_bytes=max_message_bytes,
            )
            self._encoder.set_producing(
                batching=producing.batching, chunk_bytes=producing.chunk_bytes, hashing=producing.hashing
            )
            if producing.data_key is not None:
                self._encoder.set_data_key(producing.data_key.key, list(producing.data_key.wrapped))
            if digests:
                self._encoder.start_digest(topic)
        except KernelError as error:
            raise write_error(error, topic=topic) from None

    def set_producer(
        self,
        partition: int,
        *,
        producer_id: int,
        producer_name: str,
        next_sequence_id: int,
        schema_version: bytes | None,
        transaction: tuple[int, int] | None = None,
    ) -> None:
        """Name the open producer of a partition, and the transaction of all that it sends (most and least
        significant bits); for every partition before the first `encode`."""
        self._encoder.set_producer(
            partition,
            producer_id=producer_id,
            producer_name=producer_name,
            next_sequence_id=next_sequence_id,
            schema_version=schema_version,
            transaction=transaction,
        )

    def encode(self, batch: pa.RecordBatch, publish_time_ms: int) -> list[SendFrames]:
        """All rows as SEND frames, nothing held back; rows of one partition keep their order.

        `batch` holds the DataFrame's columns, in any order, timestamps labelled with any zone.
        `publish_time_ms` is Unix time in milliseconds. Raises SchemaError for a row that does not fit,
        SendError for a message above the broker's limit; either way nothing of the batch was encoded.
        """
        if batch.num_rows == 0:
            return []
        rows = self._conform(batch)
        try:
            return self._encoder.encode(rows, publish_time_ms)
        except KernelError as error:
            raise write_error(error, topic=self._topic) from None

    def digest(self, batch: pa.RecordBatch) -> None:
        """Add all rows to `row_digest` as `encode` does, and encode nothing; without producers. Raises SchemaError."""
        if batch.num_rows == 0:
            return
        rows = self._conform(batch)
        try:
            self._encoder.digest(rows)
        except KernelError as error:
            raise write_error(error, topic=self._topic) from None

    @property
    def row_digest(self) -> RowDigest:
        """Of all rows until now; without rows where that was not asked for."""
        return RowDigest(*(self._encoder.row_digest or ()))

    def _conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns that the kernel takes: Spark labels timestamps with the session's zone and passes
        columns that are not stored; absent fields get their default."""
        defaults = dict(self._schema.defaults)
        arrays = []
        for field in self._schema.input_schema:
            if field.name in defaults:
                arrays.append(pa.repeat(pa.scalar(defaults[field.name], field.type), batch.num_rows))
                continue
            try:
                column = _with_defaults(batch.column(field.name), field, defaults)
                arrays.append(column if column.type == field.type else column.cast(field.type))
            except (KeyError, pa.ArrowException) as error:
                raise SchemaError(
                    f"topic {self._topic}: expected column {field.name} of type {field.type}, got a record "
                    f"batch of {', '.join(batch.schema.names)} ({error}); plan the write "
                    "again with these columns"
                ) from None
        if self._tombstones:
            arrays.append(self._tombstones_of(batch))
        return pa.RecordBatch.from_arrays(arrays, schema=self._input_schema)

    def _tombstones_of(self, batch: pa.RecordBatch) -> pa.Array:
        """Whether a row has a key, and null in all value columns that the DataFrame has, but the one that is the key:
        who deletes a key names it."""
        is_tombstone = pc.is_valid(batch.column("__key"))
        for name in batch.schema.names:
            if not name.startswith("__") and name != self._key_column:
                is_tombstone = pc.and_(is_tombstone, pc.is_null(batch.column(name)))
        return is_tombstone


def _with_defaults(column: pa.Array, field: pa.Field, defaults: Mapping[str, object]) -> pa.Array:
    """`column` with the members of its struct that are written as their default."""
    prefix = f"{field.name}."
    own = {
        name.removeprefix(prefix): default for name, default in defaults.items() if name.startswith(prefix)
    }
    if not own:
        return column
    members = [member.name for member in column.type]
    arrays = [column.field(name) for name in members]
    for name, default in own.items():
        arrays.append(pa.repeat(pa.scalar(default, field.type.field(name).type), len(column)))
    return pa.StructArray.from_arrays(arrays, [*members, *own], mask=column.is_null())
