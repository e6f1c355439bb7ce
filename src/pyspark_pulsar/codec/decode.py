"""Entries of one topic partition to Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pyspark_pulsar._kernel import Decoder, KernelError
from pyspark_pulsar.codec.kernel_errors import read_error, version_text
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.payload import PayloadSchema, written_schema
from pyspark_pulsar.schema.read_schema import ReadSchema

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import EntryBatch, Position

DEFAULT_BATCH_ROWS: Final = 16384


class EntryDecoder:
    """Decodes one split on an executor; used by one thread, and of no use after it raised an error.

    Every batch that comes out has exactly `ReadSchema.output_schema`, and 1 to `batch_rows` rows.
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
    ) -> None:
        """`topic` is the full name without partition suffix, `partition` -1 when it is not partitioned.

        `fetch_schema` is asked at most once per version of an Avro or key-value schema, between batches, for
        the schema that the registry holds under it, and answers None when it holds none. `start` is
        inclusive, `end` exclusive; rows outside are dropped. Raises SchemaError.
        """
        self._schema = schema
        self._full_name = topic if partition < 0 else f"{topic}-partition-{partition}"
        self._fetch_schema = fetch_schema
        try:
            self._decoder = Decoder(
                schema.output_schema,
                topic=topic,
                partition=partition,
                value=schema.value,
                batch_rows=batch_rows,
                start=start,
                end=end,
            )
        except KernelError as error:
            raise read_error(error, topic=self._full_name) from None

    def decode(self, entries: EntryBatch) -> Iterator[pa.RecordBatch]:
        """Take the entries over at once, and yield the full batches that they complete.

        Iterate to the end before the next call. Raises CorruptEntryError, DecodeError,
        UnsupportedEntryError or SchemaError, naming the topic and the message.
        """
        try:
            unknown = self._decoder.unknown_versions(entries)
            for version in unknown:
                self._learn(version)
            self._decoder.push(entries)
        except KernelError as error:
            raise read_error(error, topic=self._full_name) from None
        return self._batches(flush=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield what remains after the last entries; the same errors as `decode`."""
        return self._batches(flush=True)

    def _learn(self, version: bytes) -> None:
        if version == b"":
            self._add(version, self._schema.value)
            return
        info = self._fetch_schema(version)
        if info is None:
            raise SchemaError(
                f"topic {self._full_name}: expected the registry to hold schema version "
                f"{version_text(version)}, which messages name, got none; register the schema "
                "again, or start the read behind them"
            )
        place = f"{self._full_name}, schema version {version_text(version)}"
        self._add(version, written_schema(info, topic=place))

    def _add(self, version: bytes, written: PayloadSchema) -> None:
        try:
            self._decoder.add_writer_schema(version, written)
        except KernelError as error:
            raise read_error(error, topic=self._full_name, version=version) from None

    def _batches(self, *, flush: bool) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = self._decoder.next_batch(flush)
            except KernelError as error:
                raise read_error(error, topic=self._full_name) from None
            if batch is None:
                return
            yield pa.record_batch(batch)
