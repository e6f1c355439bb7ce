"""Messages as a table stores them: their columns, or their payloads if the columns do not determine them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.payload_rows import entries_of
from pyspark_pulsar.history.columnar.columns.projection import ColumnProjection, FieldIndex
from pyspark_pulsar.history.columnar.columns.stored_types import Leaf, stored_schema
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema

TOPIC = "persistent://public/default/orders"
VERSION = 4
VERSION_BYTES = VERSION.to_bytes(8, "big")
KEPT = "__kept"
BAD = "__bad"


@dataclass(frozen=True)
class Stored:
    """Messages of one schema, a row each."""

    schema: ReadSchema
    rows: pa.RecordBatch
    """Value columns and `__key` of the messages whose payloads are not kept."""
    told: list[int]
    """The numbers of these messages."""

    @classmethod
    def from_entries(cls, info: SchemaInfo, entries: EntryBatch, leaf: Leaf) -> "Stored":
        """Decode messages as tiering does, and convert them to the types of a table.

        Args:
            info: The schema with which messages are written and tiered.
            entries: The messages, each in an entry of its own.
            leaf: The types of the table's leaves.
        """
        schema = resolve_read_schema(info, topic=TOPIC, columns=["*", "__key"])
        table = decoded(with_columns(schema), entries, info)
        told = [index for index, kept in enumerate(table.column(KEPT).to_pylist()) if kept is None]
        rows = table.take(pa.array(told, pa.int64())).combine_chunks()
        columns = {}
        for name in (*schema.value_columns.names, "__key"):
            column = rows.column(name).combine_chunks()
            field = pa.field(name, column.type)
            for kind in stored_schema(pa.schema([field]), leaf):
                columns[name] = projected(kind, field, projected(field, kind, column))
        batch = pa.record_batch(columns) if columns else pa.RecordBatch.from_pylist([{}] * len(told))
        return cls(schema, batch, told)

    def entries(self) -> EntryBatch:
        """The rows as messages again, each in an entry of its own."""
        if not self.told:
            return EntryBatch()
        return _entries(entries_of(self.rows, self.schema.value, VERSION, batching="none"))


def with_columns(schema: ReadSchema) -> ReadSchema:
    """The same with the columns `KEPT` and `BAD`."""
    further = [pa.field(name, pa.binary()) for name in (KEPT, BAD)]
    output = pa.schema([*schema.output_schema, *further])
    return replace(schema, output_schema=output, payload_column=KEPT, corrupt_column=BAD)


def decoded(schema: ReadSchema, entries: EntryBatch, written: SchemaInfo) -> pa.Table:
    """Return all messages; bad rows are null."""
    decoder = EntryDecoder(
        schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: written, mode="PERMISSIVE"
    )
    batches = [*decoder.decode(entries), *decoder.finish()]
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, schema.output_schema)


def messages(payloads: Sequence[bytes | None], keys: Sequence[bytes | None] | None = None) -> EntryBatch:
    """Messages of version `VERSION`, each in an entry of its own; None is a null value."""
    rows = pa.record_batch(
        {
            "value": pa.array(payloads, pa.binary()),
            "__key": pa.array(keys or [None] * len(payloads), pa.binary()),
        }
    )
    return _entries(entries_of(rows, PayloadSchema("bytes"), VERSION, batching="none"))


def _entries(found: Iterable[bytes]) -> EntryBatch:
    entries = EntryBatch()
    for number, data in enumerate(found):
        entries.push(7, number, data)
    return entries


def payloads_of(entries: EntryBatch) -> list[bytes | None]:
    """The payloads in entries."""
    info = SchemaInfo("", SchemaType.BYTES)
    found = decoded(resolve_read_schema(info, topic=TOPIC, columns=["value"]), entries, info)
    payloads: list[bytes | None] = found.column("value").to_pylist()
    return payloads


def projected(source: pa.Field, target: pa.Field, column: pa.Array) -> pa.Array:
    """Return a column of the type of `source` as one of the type of `target`."""
    batch = pa.RecordBatch.from_arrays([column], names=[source.name])
    return ColumnProjection(target, source, FieldIndex([source])).convert(batch)
