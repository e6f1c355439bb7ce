"""Entries of one topic partition to Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pyspark_pulsar._kernel import Decoder, KernelError
from pyspark_pulsar.codec.intake import Intake, supply, tell_discarded, tell_lost
from pyspark_pulsar.codec.kernel_errors import read_error, version_text
from pyspark_pulsar.errors import SchemaError
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
        fetch_document: Callable[[bytes], str | None],
        batch_rows: int = DEFAULT_BATCH_ROWS,
        start: Position | None = None,
        end: Position | None = None,
        intake: Intake | None = None,
    ) -> None:
        """`topic` is the full name without partition suffix, `partition` -1 when it is not partitioned.

        `fetch_document` is asked at most once per Avro schema version, between batches, for the document
        that the registry holds under it, and answers None when it holds none. `start` is inclusive, `end`
        exclusive; rows outside are dropped. Raises SchemaError.
        """
        self._schema = schema
        self._full_name = topic if partition < 0 else f"{topic}-partition-{partition}"
        self._fetch_document = fetch_document
        self._intake = intake or Intake()
        try:
            self._decoder = Decoder(
                schema.output_schema,
                topic=topic,
                partition=partition,
                value_type=schema.value_type,
                value_schema=schema.value_schema,
                reader_document=schema.reader_document,
                batch_rows=batch_rows,
                start=start,
                end=end,
                max_open_chunked=self._intake.max_open_chunked,
                crypto_failure_action=self._intake.crypto_failure_action,
            )
        except KernelError as error:
            raise read_error(error, topic=self._full_name) from None

    def decode(self, entries: EntryBatch) -> Iterator[pa.RecordBatch]:
        """Take the entries over at once, and yield the full batches that they complete.

        Iterate to the end before the next call. Raises CorruptEntryError, DecodeError,
        UnsupportedEntryError, DecryptionError, DataLossError or SchemaError, naming the topic and the message.
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
        yield from self._batches(flush=True)
        tell_discarded(self._decoder, self._full_name)

    def _learn(self, version: bytes) -> None:
        document = self._schema.reader_document if version == b"" else self._fetch_document(version)
        if document is None:
            raise SchemaError(
                f"topic {self._full_name}: expected the registry to hold schema version "
                f"{version_text(version)}, which messages name, got none; register the schema "
                "again, or start the read behind them"
            )
        try:
            self._decoder.add_writer_schema(version, document)
        except KernelError as error:
            raise read_error(error, topic=self._full_name, version=version) from None

    def _batches(self, *, flush: bool) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = self._decoder.next_batch(flush)
                supplied = batch is None and supply(self._decoder, self._intake, self._full_name)
            except KernelError as error:
                raise read_error(error, topic=self._full_name) from None
            tell_lost(self._decoder, self._intake, self._full_name)
            if batch is not None:
                yield pa.record_batch(batch)
            elif not supplied:
                return
