import json

import pyarrow as pa
import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import ColumnChoice, ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.user_schema import restrict_to

POINT = {
    "type": "record",
    "name": "n.Point",
    "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "float"}],
}
DOCUMENT = {
    "type": "record",
    "name": "Order",
    "namespace": "n",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "share", "type": ["null", "float"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "place", "type": POINT},
        {"name": "places", "type": {"type": "array", "items": "Point"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
    ],
}
FORMER = {
    "type": "record",
    "name": "Order",
    "namespace": "n",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "gone", "type": ["string", "null"], "default": "x"},
        {"name": "origin", "type": ["null", POINT]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
        {"name": "kinds", "type": {"type": "array", "items": "n.Kind"}},
    ],
}


def info(document: object, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return SchemaInfo("x", kind, json.dumps(document).encode())


def resolved(kind: SchemaType = SchemaType.AVRO, columns: ColumnChoice | None = None) -> ReadSchema:
    return resolve_read_schema(info(DOCUMENT, kind), topic="t", columns=columns)


def restricted(*fields: pa.Field, kind: SchemaType = SchemaType.AVRO) -> ReadSchema:
    return restrict_to(resolved(kind), pa.schema(list(fields)), topic="t", older=lambda: [info(FORMER, kind)])


def field_types(found: ReadSchema) -> dict[str, object]:
    assert found.value.definition is not None
    return {each["name"]: each["type"] for each in json.loads(found.value.definition)["fields"]}


def test_the_inferred_columns_are_taken_as_they_are() -> None:
    whole = resolved()
    assert restrict_to(whole, whole.output_schema, topic="t") is whole


def test_any_column_in_any_order() -> None:
    metadata = [metadata_columns.FIELDS[name] for name in ("__partition", "__key", "__messageId")]
    wanted = [metadata[0], pa.field("counts", map_of(pa.int32(), nullable=True)), metadata[1], metadata[2]]
    found = restricted(*wanted, pa.field("_corrupt_record", pa.binary()))
    assert found.output_schema.names == ["__partition", "counts", "__key", "__messageId", "_corrupt_record"]
    assert found.corrupt_column == "_corrupt_record"


def test_members_of_structs_can_be_left_out() -> None:
    only_y = pa.struct([pa.field("y", pa.float32())])
    entry = pa.struct([pa.field("entry", pa.int64())])
    found = restricted(
        pa.field("place", only_y),
        pa.field("places", list_of(only_y, nullable=True)),
        pa.field("__messageId", entry),
    )
    assert found.output_schema.field("place").type == only_y


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_numbers_can_be_wider(kind: SchemaType) -> None:
    wide = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.float64())])
    found = restricted(
        pa.field("id", pa.int64()),
        pa.field("share", pa.float64()),
        pa.field("price", pa.decimal128(12, 3)),
        pa.field("places", list_of(wide, nullable=True)),
        pa.field("counts", map_of(pa.float64(), nullable=True)),
        kind=kind,
    )
    promoted = field_types(found)
    assert (promoted["id"], promoted["share"]) == ("long", ["null", "double"])
    assert promoted["counts"] == {"type": "map", "values": "double"}
    # The record that two fields share is widened once, where it is defined.
    assert promoted["place"]["fields"] == [{"name": "x", "type": "long"}, {"name": "y", "type": "double"}]  # type: ignore[index]
    form = {"jsonForm": "date"} if kind is SchemaType.JSON else {}
    assert promoted["day"] == {"type": "int", "logicalType": "date"} | form
    assert found.value.value_schema is not None
    assert found.value.value_schema.field("id").type == pa.int64()


def test_primitives_can_be_wider() -> None:
    found = resolve_read_schema(SchemaInfo("x", SchemaType.INT8), topic="t")
    for kind in (pa.int16(), pa.int64(), pa.float64()):
        wanted = pa.schema([pa.field("value", kind)])
        assert restrict_to(found, wanted, topic="t").output_schema == wanted


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_fields_that_only_an_earlier_version_has(kind: SchemaType) -> None:
    point = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.float32())])
    found = restricted(
        pa.field("gone", pa.string()),
        pa.field("origin", point),
        pa.field("kinds", list_of(pa.string(), nullable=True)),
        pa.field("id", pa.int32()),
        kind=kind,
    )
    types = field_types(found)
    # Point is defined before, Kind is not; each becomes a union with null.
    assert types["gone"] == ["null", "string"]
    assert types["origin"] == ["null", "n.Point"]
    assert types["kinds"] == ["null", {"type": "array", "items": FORMER["fields"][3]["type"]}]  # type: ignore[index]
    assert "kind" not in types
    assert found.info == info(DOCUMENT, kind)


def test_earlier_versions_are_requested_only_when_needed() -> None:
    def unasked() -> list[SchemaInfo]:
        raise AssertionError("asked")

    restrict_to(resolved(), pa.schema([pa.field("id", pa.int64())]), topic="t", older=unasked)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (pa.field("ID", pa.int32()), "column ID is not in the topic; did you mean id?"),
        (pa.field("__nope", pa.int32()), "column __nope is not in the topic"),
        (pa.field("id", pa.int16()), "column id cannot be read as smallint, expected int or bigint, double"),
        (pa.field("id", pa.float32()), "column id cannot be read as float"),
        (pa.field("at", pa.int64()), r"column at cannot be read as bigint, expected timestamp"),
        (pa.field("price", pa.decimal128(9, 3)), r"price cannot be read as decimal\(9, 3\), expected decimal\(9, 2\)"),
        (pa.field("place", pa.struct([pa.field("z", pa.int32())])), r"place.z is not in column place \(it has x, y\)"),
        (pa.field("places", list_of(pa.int32(), nullable=True)), r"column places\[\] cannot be read as int"),
        (pa.field("counts", map_of(pa.string(), nullable=True)), "counts{} cannot be read as string, expected int"),
        (pa.field("id", pa.int32(), nullable=False), "column id is not nullable, but a message without"),
        (pa.field("counts", map_of(pa.int32(), nullable=False)), r"column counts{} is not nullable, but a message"),
        (pa.field("gone", pa.int32()), "column gone cannot be read as int, expected string"),
        (pa.field("__partition", pa.string()), "column __partition cannot be read as string, expected int"),
        (pa.field("_corrupt_record", pa.string()), "column _corrupt_record cannot be read as string, expected binary"),
    ],
)  # fmt: skip
def test_unavailable_versions_are_refused(field: pa.Field, said: str) -> None:
    with pytest.raises(
        SchemaError, match=f"topic t: the schema requests columns that cannot be read: .*{said}"
    ):
        restricted(pa.field("day", pa.date32()), field)


def test_another_type_is_no_missing_column() -> None:
    with pytest.raises(SchemaError) as caught:
        restricted(pa.field("id", pa.int16()))
    assert str(caught.value) == (
        "topic t: the schema requests columns that cannot be read: column id cannot be read as smallint, expected int "
        "or bigint, double"
    )


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(
        SchemaError, match=r"column id cannot be read as string.*column nope is not .*; the topic has id, "
    ):
        restricted(pa.field("id", pa.string()), pa.field("nope", pa.string()))


def test_corrupt_record_alone_would_find_nothing() -> None:
    with pytest.raises(SchemaError, match="a value column beside _corrupt_record, got none"):
        restricted(pa.field("_corrupt_record", pa.binary()), metadata_columns.FIELDS["__key"])
    with pytest.raises(SchemaError, match="a value column beside _corrupt_record, got none"):
        resolved(columns=ColumnChoice(names=["_corrupt_record", "__key"]))


def test_the_column_for_bad_rows() -> None:
    shown = resolved(columns=ColumnChoice(shows_bad_rows=True, corrupt_column="bad")).output_schema
    assert shown.names[7:10] == ["counts", "bad", "__key"]
    assert shown.field("bad") == pa.field("bad", pa.binary())
    assert "bad" not in resolved(columns=ColumnChoice(corrupt_column="bad")).output_schema.names
    for name in ("id", "__key"):
        with pytest.raises(
            SchemaError, match=f"got {name}; set option 'columnNameOfCorruptRecord' to another name"
        ):
            resolved(columns=ColumnChoice(shows_bad_rows=True, corrupt_column=name))
    # A field with that name is a field, where no bad rows are shown.
    assert resolved(columns=ColumnChoice(corrupt_column="id")).corrupt_column is None


def test_schema_version_beside_bytes() -> None:
    found = resolve_read_schema(None, topic="t", columns=ColumnChoice(further=("__schemaVersion",)))
    assert found.output_schema.names == [
        "value",
        *[each.name for each in metadata_columns.DEFAULT_FIELDS],
        "__schemaVersion",
    ]
