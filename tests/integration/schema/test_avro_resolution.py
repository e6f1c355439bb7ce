"""Generated pairs of Avro schemas: a message of one, read by the other, is what Avro's Java library makes of it.

That library is what Pulsar's own client reads by. tests/property/test_avro_resolution.py compares with fastavro, which
looks for a name before an alias and so differs where names were swapped.
"""

import base64
import copy
import json
from typing import Any

import pytest
from fixtures.java_programs import java_programs
from hypothesis import HealthCheck, event, given, settings, strategies as st
from property.avro_evolution_strategies import (
    evolved_fields,
    named,
    records,
    renamed,
    values,
    with_later_default,
)
from property.test_avro_resolution import members_merged
from unit.codec.raw_payloads import avro_bytes, decoded, entries, record

from pyspark_pulsar.errors import DecodeError, SchemaError
from pyspark_pulsar.tools.standalone import LocalPulsar


@st.composite
def messages(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The writer's schema, the reader's, and a value of the writer's."""
    writer = named(draw(records()))
    value = draw(values(writer))
    reader = copy.deepcopy({**writer, "fields": draw(evolved_fields(writer["fields"]))})
    if draw(st.booleans()):
        reader = draw(renamed(reader))
    if draw(st.booleans()):
        reader = draw(with_later_default(reader))
    return writer, reader, value


def by_java(pulsar: LocalPulsar, writer: Any, reader: Any, payload: bytes) -> dict[str, Any]:
    job = {"writer": writer, "reader": reader, "payload": base64.b64encode(payload).decode()}
    return dict(json.loads(java_programs(pulsar.home).run("AvroResolution", text=json.dumps(job))))


def neutral(value: Any) -> Any:
    """As AvroResolution.java writes it."""
    if isinstance(value, bytes):
        return {"$": value.hex()}
    if isinstance(value, list):
        return [neutral(item) for item in value]
    if isinstance(value, dict):
        return {key: neutral(item) for key, item in value.items()}
    return str(value).replace("inf", "Infinity") if value in (float("inf"), -float("inf")) else value


@settings(
    print_blob=True,
    deadline=None,
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(message=messages())
def test_as_avro_java(
    pulsar: LocalPulsar, message: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
) -> None:
    writer, reader, value = message
    payload = avro_bytes(copy.deepcopy(writer), value)
    expected = by_java(pulsar, writer, reader, payload)
    try:
        [row] = decoded("AVRO", reader, entries(payload), writer)
    except DecodeError:
        event("value refused")
        assert "refused" in expected
        return
    except SchemaError:
        # Found before any value is read; Java finds it when a value leads there.
        event("schema refused")
        return
    if "refused" in expected:
        event("what only we read")
        return
    event("read")
    assert neutral(members_merged(row)) == expected["value"]


@pytest.mark.parametrize("kind", [{"type": "int"}, {"type": ["null", "int"], "default": None}])
@pytest.mark.parametrize(
    "fields",
    [
        {"b": "a", "c": "b"},
        {"a": "b", "b": "a"},
        {"b": "a", "a": "b"},
        {"c": "a", "a": "c"},
        {"b": "a", "a": "c", "c": "b"},
        {"x": "a", "b": "y"},
    ],
)
def test_aliases_as_avro_java(pulsar: LocalPulsar, kind: dict[str, Any], fields: dict[str, str]) -> None:
    writer = record(("a", "int"), ("b", "int"), ("c", "int"))
    payload = avro_bytes(writer, {"a": 5, "b": 6, "c": 7})
    reader = record(*({"name": name, "aliases": [alias], **kind} for name, alias in fields.items()))
    expected = by_java(pulsar, writer, reader, payload)
    [row] = decoded("AVRO", reader, entries(payload), writer)
    # Java refuses two fields of one name; here the field of that name is read.
    assert "refused" in expected or row == expected["value"]
    assert ("refused" in expected) == (fields == {"b": "a", "c": "b"})


def test_a_schema_reads_its_own_messages_as_avro_java(pulsar: LocalPulsar) -> None:
    swapped = record(*({"name": one, "aliases": [other], "type": "int"} for one, other in ("ab", "ba")))
    payload = avro_bytes(swapped, {"a": 5, "b": 6})
    expected = by_java(pulsar, swapped, swapped, payload)
    assert decoded("AVRO", swapped, entries(payload)) == [expected["value"]]


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("boolean", True),
        ("string", "x"),
        ("double", 1.5),
        ("int", 3),
        ("long", 2**40),
        ({"type": "map", "values": "long"}, {"k": 1}),
        ({"type": "array", "items": "int"}, [1, 2]),
        (record(("n", "long"), name="Inner"), {"n": 4}),
    ],
)
def test_defaults_of_branches_as_avro_java(pulsar: LocalPulsar, kind: Any, default: Any) -> None:
    """Pulsar's Avro 1.11 takes defaults of the first branch only; Avro 1.12, as here, of the first that fits."""
    writer = record(("id", "int"))
    payload = avro_bytes(writer, {"id": 1})
    first, later = ([kind, "null", "bytes"], ["null", "bytes", kind])
    # A text is a value of bytes too, and those come first.
    later = ["null", kind, "bytes"] if kind == "string" else later
    expected = by_java(pulsar, writer, record(("id", "int"), ("x", first, default)), payload)["value"]
    for kinds in (first, later):
        [row] = decoded("AVRO", record(("id", "int"), ("x", kinds, default)), entries(payload), writer)
        assert neutral(members_merged(row)) == expected
