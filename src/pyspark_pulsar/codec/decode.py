"""Entries of one topic partition to Arrow record batches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pyspark_pulsar._kernel import Decoder, KernelError
from pyspark_pulsar.codec.decoder_pool import DECODERS
from pyspark_pulsar.codec.intake import Intake, supply, tell_discarded, tell_lost
from pyspark_pulsar.codec.kernel_errors import read_error, version_error, version_text
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.errors import PulsarError, SchemaError
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
"""The version that a message names which names none."""

_BAD_ROWS: Final = {"FAILFAST": "fail", "PERMISSIVE": "null", "DROPMALFORMED": "drop"}
DONE_WITH_BAD_ROWS: Final = {"PERMISSIVE": "have no value", "DROPMALFORMED": "were left out"}

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderOptions:
    """The kernel reads these attributes; `_kernel.pyi` says what each means, and holds this class to it."""

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
    """Those of which a range has chunks. What names one is of use within its topic partition."""

    open: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Whose first chunk is in the range, at that ledger and entry, and whose last one is not."""
    ended: set[bytes] = field(default_factory=set)
    """Whose last chunk is in the range, or that are known never to be whole."""

    def add(self, name: bytes, first: tuple[int, int] | None) -> None:
        """`first`: None for one that has ended."""
        if first is None:
            self.ended.add(name)
        else:
            self.open[name] = first


class EntryDecoder:
    """Decodes one split on an executor; used by one thread, and of no use after it raised an error, save
    `TransactionsUnknown`.

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
        mode: str = "FAILFAST",
        asker: Hashable | None = None,
        intake: Intake | None = None,
        row_filter: RowFilter | None = None,
    ) -> None:
        """`topic` is the full name without partition suffix, `partition` -1 when it is not partitioned.

        `fetch_schema` is asked at most once per schema version, between batches, for the schema that the
        registry holds under it, the latest for `NO_VERSION`, and answers None when it holds none. `start` is
        inclusive, `end` exclusive; rows outside, and those that `row_filter` does not want, are dropped. `mode` says
        what becomes of a message that does not decode (option `mode`).
        With `asker`, which says which role reads from which cluster, the kernel's decoder that an earlier split of the
        same query left behind in this process goes on, if all that it has learnt is so for this split. Raises
        SchemaError.
        """
        self._schema = schema
        self._mode = mode
        self._row_filter = row_filter or RowFilter()
        self._full_name = topic if partition < 0 else f"{topic}-partition-{partition}"
        self._prefix = f"topic {self._full_name}"
        self._intake = intake or Intake()
        self._fetch_schema = fetch_schema
        self._key: Hashable = asker and (asker, topic, schema, batch_rows, mode, *self._intake.settings)
        resting = DECODERS.take(self._key) if self._key else None
        if resting is not None and not resting.serves(fetch_schema):
            resting = None
        self._learnt: dict[bytes, SchemaInfo | None] = {} if resting is None else dict(resting.learnt)
        """The answers of `fetch_schema` for the versions that the decoder knows."""
        try:
            if resting is not None:
                resting.decoder.rewind(partition, start, end, self._row_filter)
            self._decoder = (
                resting.decoder
                if resting is not None
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
        """Take the entries over at once, and yield the full batches that they complete.

        Iterate to the end before the next call. Raises CorruptEntryError, DecodeError,
        UnsupportedEntryError, DecryptionError, DataLossError or SchemaError, naming the topic and the message; and
        `codec.intake.TransactionsUnknown`, after which the entries from there on must come from the broker.
        """
        try:
            for version in self._decoder.unknown_versions(entries):
                self._learn(version)
            self._decoder.push(entries)
        except KernelError as error:
            raise read_error(error, topic=self._full_name) from None
        return self._batches(flush=False)

    def finish(self, chunked: ChunkedMessages | None = None) -> Iterator[pa.RecordBatch]:
        """Yield what remains after the last entries; the same errors as `decode`. Logs how many messages were
        bad, fills `chunked`, and leaves the kernel's decoder to the next split."""
        yield from self.flush()
        if chunked is not None:
            for name, first in self._decoder.chunked_messages():
                chunked.add(name, first)
        self._tell_bad_rows()
        tell_discarded(self._decoder, self._full_name)
        if self._key:
            DECODERS.give_back(self._key, self._decoder, self._learnt)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield what remains after the last entries; the same errors as `decode`."""
        return self._batches(flush=True)

    def learn(self, version: bytes) -> None:
        """Make a schema version known that messages may name. Raises SchemaError for one that is lost, or does not
        resolve."""
        written = self._written(version) if version else self._unnamed()
        own, reader = self._schema.value.value_type, self._schema.info
        why = f"written as {written.value_type}, cannot be resolved to the reader's {own}"
        try:
            if written.value_type == own:
                self._decoder.add_writer_schema(version, written)
                if self._schema.payload_column is not None and not self._tells_all(version, written):
                    self._decoder.keep_payloads(version)
                return
        except KernelError as error:
            why = error.message
        raise version_error(why, topic=self._full_name, version=version, reader=reader)

    def _learn(self, version: bytes) -> None:
        """Make a version known, or make its messages bad rows if it is lost or does not resolve.

        Messages that are not visible, not wanted, or null values must not fail for their version.
        """
        try:
            self.learn(version)
        except SchemaError as fault:
            self._decoder.refuse_version(version, str(fault).removeprefix(f"{self._prefix}: "))

    def _written(self, version: bytes) -> PayloadSchema:
        # A producer may name anything; the registry's versions are numbers of eight bytes.
        info = None
        if len(version) in (0, VERSION_BYTES):
            info = self._learnt[version] = self._fetch_schema(version)
        if info is None:
            named = f"schema version {version_text(version)}, which messages name"
            raise SchemaError(
                f"topic {self._full_name}: expected the registry to hold "
                f"{named if version else 'a schema, since messages name no version of one'}, got none; register the "
                "schema again, start the read behind them, or read around them with mode=PERMISSIVE"
            )
        return written_schema(info, topic=f"{self._full_name}, schema version {version_text(version)}")

    def _tells_all(self, version: bytes, written: PayloadSchema) -> bool:
        """Return whether the columns of the reader's schema hold all that messages of a version say, as far as schemas
        tell."""
        info = self._schema.info if version else None
        own = None if info is None else written_schema(info, topic=self._full_name)
        return columns_are_whole(self._schema.value, written, own)

    def _unnamed(self) -> PayloadSchema:
        """What messages that name no version were written with: the form that the topic's schema has now, whatever
        `.schema(...)`, or other topics, made of it for the reader."""
        if self._schema.own_schemas:
            return self._written(NO_VERSION)
        info = self._schema.info
        if info is None or info.type not in RECORD_TYPES:
            return self._schema.value
        return written_schema(info, topic=self._full_name)

    def _tell_bad_rows(self) -> None:
        rows, first = self._decoder.bad_rows
        if rows and first is not None:
            fault: PulsarError = read_error(first, topic=self._full_name)
            _log.warning(
                "topic %s: messages that did not decode and %s (mode=%s): %d; the first: %s",
                self._full_name, DONE_WITH_BAD_ROWS[self._mode], self._mode, rows,
                str(fault).removeprefix(f"{self._prefix}, "),
            )  # fmt: skip

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


def check_readable(schema: ReadSchema, topic: TopicName, info: SchemaInfo) -> None:
    """Raises SchemaError unless messages of `topic` that were written with `info` can be read by `schema`, as far as
    schemas tell. Driver only."""
    EntryDecoder(schema, topic=str(topic), partition=-1, fetch_schema=lambda _: info).learn(
        info.version or b"?"
    )
