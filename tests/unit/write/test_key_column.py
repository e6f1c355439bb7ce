import datetime as dt

import pyarrow as pa
import pytest
from unit.codec.sent_entries import entries_of

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder, Producing, producing
from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.registration import pair_info
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema
from pyspark_pulsar.write.key_column import key_bytes, keyed, keyed_columns, refuse_separated
from pyspark_pulsar.write.target import RowTargets, settle_target

TOPIC = "persistent://public/default/t"
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("__topic", pa.string())])
DAYS = pa.array([2_932_896, 2_932_897, -719_529], pa.int32()).cast(pa.date32())


def options(**given: str) -> WriteOptions:
    return parse_options(WriteOptions, {"service.url": "pulsar://localhost:1", **given})


def pair(*, separated: bool) -> SchemaInfo:
    sides = [pa.field("key", pa.string()), pa.field("value", pa.int64())]
    return pair_info(sides, None, separated=separated, name="R", where="here")


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (pa.array(["a", "", "Zürich", None]), [b"a", b"", "Zürich".encode(), None]),
        (pa.array(["ü"], pa.large_string()), ["ü".encode()]),
        (pa.array([b"\xff\x00", None]), [b"\xff\x00", None]),
        (pa.array([b"\xff"], pa.large_binary()), [b"\xff"]),
        (pa.array([0, -128, None], pa.int8()), [b"0", b"-128", None]),
        (pa.array([-(2**63), 2**63 - 1]), [b"-9223372036854775808", b"9223372036854775807"]),
        (pa.array([True, False, None]), [b"true", b"false", None]),
        (pa.array([dt.date(1960, 2, 29), None]), [b"1960-02-29", None]),
        (DAYS, [b"9999-12-31", b"+10000-01-01", b"-0001-12-31"]),
        (pa.array([], pa.int32()), []),
    ],
)  # fmt: skip
def test_keys_equal_spark_s_text(column: pa.Array, keys: list[bytes | None]) -> None:
    found = key_bytes(column)
    assert found.type == pa.binary()
    assert found.to_pylist() == keys


def test_a_column_is_added_to_the_schema_and_to_each_batch() -> None:
    added = keyed_columns(COLUMNS, "id")
    assert added == COLUMNS.append(pa.field("__key", pa.binary()))
    batches = [
        pa.record_batch({"id": ids, "name": ["x"] * len(ids), "__topic": ["t"] * len(ids)})
        for ids in ([1, None], [3])
    ]
    found = list(keyed(iter(batches), "id"))
    assert [each.column("__key").to_pylist() for each in found] == [[b"1", None], [b"3"]]
    assert [each.drop_columns(["__key"]) for each in found] == batches
    assert keyed_columns(COLUMNS, None) is COLUMNS
    assert list(keyed(iter(batches), None)) == batches


@pytest.mark.parametrize(
    "kind",
    [
        pa.float32(), pa.float64(), pa.decimal128(10, 0), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.null(),
        pa.list_(pa.int32()), pa.struct([("x", pa.int32())]), pa.map_(pa.string(), pa.string()), pa.duration("us"),
    ],
    ids=str,
)  # fmt: skip
def test_types_without_a_text_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="expected string, binary, boolean, date or a whole"):
        keyed_columns(pa.schema([("id", kind)]), "id")


def test_columns_that_cannot_be_keys_are_refused() -> None:
    with pytest.raises(
        OptionError, match=r"'Name': expected one of the value columns id, name; did you mean name\?"
    ):
        keyed_columns(COLUMNS, "Name")
    with pytest.raises(OptionError, match="'__topic': expected one of the value columns id, name"):
        keyed_columns(COLUMNS, "__topic")
    with pytest.raises(OptionError, match="the DataFrame has a column __key"):
        keyed_columns(COLUMNS.append(pa.field("__key", pa.string())), "id")
    with pytest.raises(SchemaError, match="expected one column id, got 2"):
        keyed_columns(COLUMNS.append(pa.field("id", pa.string())), "id")


def test_the_driver_refuses_before_rows_are_sent_even_if_they_name_topics() -> None:
    found = settle_target(options(keyColumn="id"), COLUMNS)
    assert found == RowTargets(keyed_columns(COLUMNS, "id"), None)
    with pytest.raises(OptionError, match="did you mean name"):
        settle_target(options(keyColumn="nam"), COLUMNS)


def test_a_topic_with_separated_keys_is_refused() -> None:
    with pytest.raises(OptionError, match="conflicts with keyValueEncoding=separated"):
        options(keyColumn="key", keyValueEncoding="separated")
    with pytest.raises(OptionError, match=rf"got {TOPIC}\. In its KEY_VALUE schema of separated keys"):
        refuse_separated(pair(separated=True), "key", TOPIC)
    refuse_separated(pair(separated=True), None, TOPIC)
    refuse_separated(pair(separated=False), "key", TOPIC)
    refuse_separated(None, "key", TOPIC)


def test_tombstones_require_a_key() -> None:
    columns = pa.schema([("id", pa.int64()), ("name", pa.string()), ("n", pa.int32())])
    batch = pa.record_batch([[1, 2, None], [None, "x", None], [None, None, None]], schema=columns)
    [rows] = keyed(iter([batch]), "id")
    schema = resolve_write_schema(rows.schema, None, topic=TOPIC, value_format="json")
    how = producing(options(keyColumn="id", writeTombstones="true"))
    assert how == Producing(tombstones=True, key_column="id")
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1, producing=how)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=b"")
    reading = resolve_read_schema(schema.info, topic=TOPIC, columns=["id", "__key", "__messageSize"])
    decoder = EntryDecoder(reading, topic=TOPIC, partition=-1, fetch_schema=lambda _: None)
    found = [*decoder.decode(entries_of(encoder.encode(rows, 1))), *decoder.finish()]
    told = [
        (row["__key"], row["id"], row["__messageSize"] == 0) for each in found for row in each.to_pylist()
    ]
    assert told == [(b"1", None, True), (b"2", 2, False), (None, None, False)]


def test_tombstones_require_a_column_besides_the_key() -> None:
    columns = pa.schema([("id", pa.int64()), ("__topic", pa.string())])
    with pytest.raises(
        OptionError, match="expected a value column besides the column of keyColumn, got only id"
    ):
        settle_target(options(keyColumn="id", writeTombstones="true"), columns)
    assert settle_target(options(keyColumn="id"), columns)
