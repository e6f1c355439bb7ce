"""Changes of columns, applied to a registered document.

The answers of brokers to such changes are tested in tests/integration.
"""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pulsar.catalog.statements.alter_table import _edit_record, _register
from pyspark_pulsar.errors import CatalogUnsupported, PulsarError, SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.avro.to_arrow import record_schema
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

TOPIC = TopicName.parse("t/n/x")
DOCUMENT: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "doc": "An order",
    "aliases": ["Bestellung"],
    "fields": [
        {"name": "id", "type": "int", "doc": "number"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "size", "type": {"type": "int", "java": "Short"}, "default": 7},
        {"name": "note", "type": ["null", {"type": "string", "avro.java.string": "String"}], "default": None},
        {"name": "to", "type": ["null", {"type": "record", "name": "Place", "fields": [
            {"name": "street", "type": "string"}, {"name": "no", "type": "int"}]}], "default": None},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "n", "type": "int"}]}}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
        {"name": "other", "type": "Kind"},
        {"name": "any", "type": ["int", "string"]},
    ],
}  # fmt: skip


def edited(*changes: dict[str, Any], kind: SchemaType = SchemaType.AVRO) -> dict[str, Any]:
    """The document after the changes."""
    info = SchemaInfo("x", kind, json.dumps(DOCUMENT).encode())
    record = _edit_record(TOPIC, info, changes)
    assert record is not None
    found: dict[str, Any] = json.loads(record.text())
    return found


def with_field(index: int, **changes: Any) -> dict[str, Any]:
    expected = copy.deepcopy(DOCUMENT)
    expected["fields"][index] |= changes
    return expected


def add(*path: str, kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"change": "add", "column": list(path), "type": kind, "nullable": True, "position": None, **more}


def retype(*path: str, kind: str) -> dict[str, Any]:
    return {"change": "type", "column": list(path), "type": kind}


NEW = {"name": "new", "type": ["null", "string"], "default": None}


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_all_other_parts_stay_as_they_were_registered(kind: SchemaType) -> None:
    found = edited(add("new", comment="why"), kind=kind)
    assert found == {**DOCUMENT, "fields": [*DOCUMENT["fields"], {**NEW, "doc": "why"}]}
    assert list(found) == list(DOCUMENT)


def test_positions() -> None:
    found = edited(add("new", position="first"), add("newer", position={"after": "new"}))
    assert [each["name"] for each in found["fields"]][:3] == ["new", "newer", "id"]
    with pytest.raises(SchemaError, match="AFTER nothing"):
        edited(add("new", position={"after": "nothing"}))


def test_paths_lead_through_records_and_arrays() -> None:
    found = edited(add("to", "new", position="first"), add("lines", "element", "new"))
    assert found["fields"][4]["type"][1]["fields"][0] == NEW
    assert found["fields"][5]["type"]["items"]["fields"][1] == NEW


def test_new_records_get_names_of_their_own() -> None:
    inner = {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]}
    found = edited(
        add("to2", kind=inner), add("to", "to2", kind=inner), add("lines", "element", "to2", kind=inner)
    )
    fields = record_schema(json.dumps(found), where="x")
    assert fields.field("to2").type == pa.struct([("a", pa.int64())])
    assert found["fields"][-1]["type"][1]["name"] == "Order_to2"


def test_several_changes_build_on_each_other() -> None:
    found = edited(
        add("new"),
        {"change": "comment", "column": ["new"], "comment": "text"},
        {"change": "drop", "column": ["note"]},
        {"change": "drop", "column": ["gone"], "if_exists": True},
    )
    assert [each["name"] for each in found["fields"]][3:4] == ["to"]
    assert found["fields"][-1] == {**NEW, "doc": "text"}


def test_types_are_promoted_and_keep_their_attributes() -> None:
    assert edited(retype("id", kind="long")) == with_field(0, type="long")
    assert edited(retype("size", kind="double")) == with_field(2, type={"type": "double", "java": "Short"})
    assert edited(retype("note", kind="binary"))["fields"][3]["type"] == [
        "null", {"type": "bytes", "avro.java.string": "String"},
    ]  # fmt: skip
    assert edited(retype("to", "no", kind="long"))["fields"][4]["type"][1]["fields"][1]["type"] == "long"
    assert edited(retype("id", kind="integer")) == DOCUMENT


def test_null_is_allowed_without_losing_a_default() -> None:
    change = {"change": "nullable", "nullable": True}
    assert edited({**change, "column": ["id"]}) == with_field(0, type=["null", "int"], default=None)
    size = [{"type": "int", "java": "Short"}, "null"]
    assert edited({**change, "column": ["size"]}) == with_field(2, type=size)
    assert edited({**change, "column": ["note"]}) == DOCUMENT
    assert edited({**change, "nullable": False, "column": ["id"]}) == DOCUMENT


def test_comments_are_the_documentation_of_a_field() -> None:
    assert edited({"change": "comment", "column": ["id"], "comment": "x"}) == with_field(0, doc="x")
    assert "doc" not in edited({"change": "comment", "column": ["id"], "comment": ""})["fields"][0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (add("id"), "expected a new name"),
        (add("__key"), "name of a metadata column"),
        (add("new", nullable=False), "NOT NULL"),
        (add("new-name"), "new_name"),
        (add("id", "x"), "a struct at id"),
        (add("nowhere", "x"), "'nowhere'"),
        (retype("id", kind="string"), r"bigint, float, double.*add a column"),
        (retype("id", kind="short"), "smallint"),
        (retype("at", kind="long"), "none exists"),
        (retype("to", kind="string"), "none exists"),
        (retype("any", kind="long"), "union of several"),
        ({"change": "drop", "column": ["nothing"]}, "'nothing'"),
        ({"change": "drop", "column": ["kind"]}, "named type in use"),
        ({"change": "drop", "column": ["lines", "element", "n"]}, "keeps at least one field"),
        ({"change": "rename", "column": ["id"], "to": "number"}, "lose their values"),
        ({"change": "nullable", "column": ["note"], "nullable": False}, "SET NOT NULL"),
    ],
)
def test_options_that_would_lose_messages_are_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(PulsarError, match=reason) as caught:
        edited(change)
    assert isinstance(caught.value, (CatalogUnsupported, SchemaError))


@pytest.mark.parametrize("kind", [SchemaType.INT64, SchemaType.KEY_VALUE, SchemaType.PROTOBUF_NATIVE])
def test_only_records_in_avro_or_json_change_by_column(kind: SchemaType) -> None:
    with pytest.raises(CatalogUnsupported, match=kind.name):
        edited(add("new"), kind=kind)


@pytest.mark.parametrize(
    ("answers", "is_alone"), [((5,), True), ((3, 5), True), ((6,), False), ((3, 7), False)]
)
def test_a_change_that_undoes_another_is_reported(answers: tuple[int, ...], is_alone: bool) -> None:
    """The versions that the registry answers with, of a topic whose newest was 4."""
    info = SchemaInfo("x", SchemaType.AVRO, json.dumps(DOCUMENT).encode(), version=(4).to_bytes(8, "big"))
    record = _edit_record(TOPIC, info, [add("new")])
    assert record is not None
    given = iter(answers)
    admin: Any = SimpleNamespace(schemas=SimpleNamespace(register=lambda *_: next(given)))
    if is_alone:
        _register(admin, TOPIC, info, record)
    else:
        with pytest.raises(SchemaError, match="same time"):
            _register(admin, TOPIC, info, record)
    assert next(given, None) is None


def test_a_list_of_dates_of_a_java_class_is_no_hurdle() -> None:
    """Java's client describes a date by a record without fields. No column holds a list of such records in
    Avro.
    """
    dates = {
        "type": "array",
        "items": {"type": "record", "name": "Date", "namespace": "java.util", "fields": []},
    }
    document = {"type": "record", "name": "R", "fields": [{"name": "dates", "type": dates}]}
    for kind in (SchemaType.JSON, SchemaType.AVRO):
        record = _edit_record(TOPIC, SchemaInfo("x", kind, json.dumps(document).encode()), [add("note")])
        assert record is not None
        assert json.loads(record.text())["fields"][0] == document["fields"][0]
