"""Encoders of a DataFrame's record batches to SEND frames for the partitions of one topic."""

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
    """The settings that decide how rows become messages, chunks and entries.

    `batching` is `default`, `key` or `none`. If `chunk_bytes` is None, no message is split into chunks. Otherwise the
    size limit of a chunk is the smaller of `chunk_bytes` and the broker's limit. `tombstones` is the option
    `writeTombstones`. To decide whether a row is a tombstone, the encoder ignores the column `key_column`.
    """

    batching: str = "default"
    chunk_bytes: int | None = None
    hashing: str = "JavaStringHash"
    tombstones: bool = False
    key_column: str | None = None
    data_key: DataKey | None = None


def producing(options: WriteOptions) -> Producing:
    """Return the settings for one encoder. Do not share them between encoders.

    The settings can contain a data key, and a second encoder must not use the same data key. This function runs on
    executors only, and raises the same errors as `new_data_key`.
    """
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
    """An encoder of one task attempt's rows on an executor, used by one thread."""

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
        """Create an encoder.

        Args:
            schema: The schema of the write.
            topic: The full name of the topic, without the suffix of a partition.
            partitions: Number of partitions; 1 for a topic without partitions.
            compression: NONE, LZ4, ZLIB, ZSTD or SNAPPY.
            batching_max_messages: Maximum number of messages in an entry.
            batching_max_bytes: Approximate maximum size of an entry, in uncompressed bytes. Only an entry with a single
                message can be larger.
            max_message_bytes: The broker's limit for the size of a message, in bytes.
            producing: The settings that decide how rows become messages, chunks and entries.
            digests: Whether to compute `row_digest`.

        Raises:
            SchemaError: The columns do not fit the topic's schema.

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
        """Set the open producer of a partition, before the first `encode`.

        `transaction` is the id of the transaction for all messages of this producer: the most and the least significant
        64 bits.
        """
        self._encoder.set_producer(
            partition,
            producer_id=producer_id,
            producer_name=producer_name,
            next_sequence_id=next_sequence_id,
            schema_version=schema_version,
            transaction=transaction,
        )

    def encode(self, batch: pa.RecordBatch, publish_time_ms: int) -> list[SendFrames]:
        """Encode all rows to SEND frames, and return all frames. The rows of a partition keep their order.

        Args:
            batch: The DataFrame's columns in any order. Timestamps can have any time zone.
            publish_time_ms: The publish time of all messages, in Unix milliseconds.

        Raises:
            SchemaError: A row does not fit the schema. No row of the batch was encoded.
            SendError: A message is larger than the broker's limit. No row of the batch was encoded.

        """
        if batch.num_rows == 0:
            return []
        rows = self._conform(batch)
        try:
            return self._encoder.encode(rows, publish_time_ms)
        except KernelError as error:
            raise write_error(error, topic=self._topic) from None

    def digest(self, batch: pa.RecordBatch) -> None:
        """Add all rows to `row_digest` as `encode` does, but encode nothing. No producer needs to be set.

        Raises:
            SchemaError: A row does not fit the schema.

        """
        if batch.num_rows == 0:
            return
        rows = self._conform(batch)
        try:
            self._encoder.digest(rows)
        except KernelError as error:
            raise write_error(error, topic=self._topic) from None

    @property
    def row_digest(self) -> RowDigest:
        """Return the digest of all rows so far, or an empty digest if `digests` is False."""
        return RowDigest(*(self._encoder.row_digest or ()))

    def _conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns that the kernel accepts. Fields without a column get their default value.

        Timestamps are cast, because Spark labels timestamps with the session's time zone. Columns that the topic does
        not store are left out.
        """
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
                    f"batch with the columns {', '.join(batch.schema.names)} ({error}); plan the write "
                    "again with these columns"
                ) from None
        if self._tombstones:
            arrays.append(self._tombstones_of(batch))
        return pa.RecordBatch.from_arrays(arrays, schema=self._input_schema)

    def _tombstones_of(self, batch: pa.RecordBatch) -> pa.Array:
        """Return a boolean array: True for each row with a key and with nulls in all value columns of the DataFrame.

        The column `key_column` is ignored, because a row that deletes a key also has the key in this column.
        """
        is_tombstone = pc.is_valid(batch.column("__key"))
        for name in batch.schema.names:
            if not name.startswith("__") and name != self._key_column:
                is_tombstone = pc.and_(is_tombstone, pc.is_null(batch.column(name)))
        return is_tombstone


def _with_defaults(column: pa.Array, field: pa.Field, defaults: Mapping[str, object]) -> pa.Array:
    """Return `column`. If the write uses defaults for members of this struct, add these members."""
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
