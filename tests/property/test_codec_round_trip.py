"""The decoder reads everything that the encoder wrote: generated schemas and values, through the kernel."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from property.arrow_strategies import TEXT, TYPES, as_arrow, batches, comparable, structs_of, values
from unit.codec.sent_entries import entries_of

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/orders"
PUBLISHED_MS = 1_795_230_103_082
VERSION = b"\0\0\0\0\0\0\0\7"


def encoded(
    batch: pa.RecordBatch, value_format: str | None, key_value_encoding: str | None = None, **encoding: Any
) -> tuple[SchemaInfo, EntryBatch]:
    schema = resolve_write_schema(
        batch.schema, None, topic=TOPIC, value_format=value_format, key_value_encoding=key_value_encoding
    )
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1, **encoding)
    encoder.set_producer(0, producer_id=3, producer_name="p", next_sequence_id=10, schema_version=VERSION)
    return schema.info, entries_of(encoder.encode(batch, PUBLISHED_MS))


def decoded(
    info: SchemaInfo, entries: EntryBatch, columns: list[str], batch_rows: int
) -> list[dict[str, Any]]:
    read = resolve_read_schema(info, topic=TOPIC, columns=columns)
    decoder = EntryDecoder(
        read, topic=TOPIC, partition=-1, fetch_schema=lambda _: info, batch_rows=batch_rows
    )
    found = [*decoder.decode(entries), *decoder.finish()]
    assert all(batch.schema.equals(read.output_schema, check_metadata=True) for batch in found)
    assert all(0 < batch.num_rows <= batch_rows for batch in found)
    for batch in found:
        batch.validate(full=True)
    rows: list[dict[str, Any]] = pa.Table.from_batches(found, read.output_schema).to_pylist(
        maps_as_pydicts="strict"
    )
    return rows


@pytest.mark.parametrize("value_format", ["avro", "json"])
@settings(print_blob=True, deadline=None, max_examples=150)
@given(
    batch=batches(),
    compression=st.sampled_from(["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"]),
    batching_max_messages=st.integers(1, 9),
    batch_rows=st.integers(1, 9),
)
def test_record(
    value_format: str, batch: pa.RecordBatch, compression: str, batching_max_messages: int, batch_rows: int
) -> None:
    info, entries = encoded(
        batch, value_format, compression=compression, batching_max_messages=batching_max_messages
    )
    assert entries.num_messages == batch.num_rows
    rows = decoded(info, entries, ["*"], batch_rows)
    assert comparable(rows) == comparable(batch.to_pylist(maps_as_pydicts="strict"))


PRIMITIVE_ROWS = st.one_of(
    *(
        st.tuples(st.just(kind), st.lists(st.none() | rows, min_size=1, max_size=8))
        for kind, rows in [
            (pa.binary(), st.binary(max_size=9)),
            (pa.string(), TEXT),
            (pa.bool_(), st.booleans()),
            (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
            (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
            (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
            (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
            (pa.float32(), st.floats(width=32, allow_nan=False)),
            (pa.float64(), st.floats(allow_nan=False)),
            (pa.date32(), st.dates()),
            (pa.time64("ns"), st.times()),
            (pa.timestamp("us"), st.datetimes()),
            (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(dt.UTC))),
        ]
    )
)


@settings(print_blob=True, deadline=None, max_examples=200)
@given(PRIMITIVE_ROWS)
def test_primitive(typed: tuple[pa.DataType, list[Any]]) -> None:
    kind, rows = typed
    batch = pa.record_batch([pa.array(rows, kind)], names=["value"])
    info, entries = encoded(batch, None)
    assert comparable(decoded(info, entries, ["*"], 5)) == comparable(batch.to_pylist())


METADATA = pa.schema(
    [
        ("value", pa.string()),
        ("__key", pa.binary()),
        ("__eventTime", pa.timestamp("us", tz="UTC")),
        ("__messageProperties", pa.map_(pa.string(), pa.string())),
        ("__orderingKey", pa.binary()),
    ]
)


@settings(print_blob=True, deadline=None, max_examples=150)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "value": TEXT,
                "__key": st.none() | TEXT.map(str.encode),
                # The unit is milliseconds; in Pulsar, 0 means that there is no event time.
                "__eventTime": st.none() | st.integers(1, 2**41).map(lambda ms: ms * 1000),
                "__messageProperties": st.none() | st.dictionaries(TEXT, TEXT, max_size=3),
                "__orderingKey": st.none() | st.binary(max_size=5),
            }
        ),
        min_size=1,
        max_size=8,
    )
)
def test_metadata_columns(rows: list[dict[str, Any]]) -> None:
    columns = []
    for field in METADATA:
        given_values = [row[field.name] for row in rows]
        if field.name == "__messageProperties":
            given_values = [None if each is None else list(each.items()) for each in given_values]
        columns.append(pa.array(given_values, field.type))
    batch = pa.RecordBatch.from_arrays(columns, schema=METADATA)
    info, entries = encoded(batch, None, batching_max_messages=3)
    found = decoded(info, entries, METADATA.names, 16)
    expected = batch.to_pylist(maps_as_pydicts="strict")
    for row in [*found, *expected]:
        # A message without properties and one with none are the same to Pulsar.
        row["__messageProperties"] = row["__messageProperties"] or {}
    assert found == expected


def side(kind: pa.DataType, rows: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[pa.DataType, Any]]:
    return st.tuples(st.just(kind), st.just(rows))


SIDES = st.one_of(
    side(pa.binary(), st.binary(max_size=9)),
    side(pa.string(), TEXT),
    side(pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    side(pa.bool_(), st.booleans()),
    structs_of(TYPES).map(pa.struct).map(lambda kind: (kind, values(kind))),
)


@pytest.mark.parametrize("value_format", ["avro", "json"])
@pytest.mark.parametrize("encoding", ["inline", "separated"])
@settings(print_blob=True, deadline=None, max_examples=60)
@given(data=st.data(), batching_max_messages=st.integers(1, 4), batch_rows=st.integers(1, 5))
def test_key_value(
    encoding: str, value_format: str, data: st.DataObject, batching_max_messages: int, batch_rows: int
) -> None:
    count = data.draw(st.integers(1, 6))
    columns = {}
    for name in ("key", "value"):
        kind, rows = data.draw(SIDES)
        drawn = data.draw(st.lists(st.none() | rows, min_size=count, max_size=count))
        columns[name] = pa.array([as_arrow(row, kind) for row in drawn], kind)
    batch = pa.record_batch(columns)
    has_record = any(pa.types.is_struct(each.type) for each in columns.values())
    info, entries = encoded(
        batch,
        value_format if has_record else None,
        key_value_encoding=encoding,
        batching_max_messages=batching_max_messages,
    )
    rows = decoded(info, entries, ["*"], batch_rows)
    assert comparable(rows) == comparable(batch.to_pylist(maps_as_pydicts="strict"))
