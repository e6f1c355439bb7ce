"""Generated pairs of Avro schemas: a message of one, read by the other, is what Avro's Java library makes of it.

That library is what Pulsar's own client reads by. tests/property/test_avro_resolution.py compares with fastavro, which
looks for a name before an alias and so differs where names were swapped.
"""

import base64
import copy
import json
from typing import Any

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
from pyspark_pulsar.standalone import LocalPulsar


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


def test_aliases_as_avro_java(pulsar: LocalPulsar) -> None:
    writer = record(("a", "int"), ("b", "int"))
    payload = avro_bytes(writer, {"a": 5, "b": 6})
    nullable = {"type": ["null", "int"], "default": None}
    for fields in ({"b": "a", "c": "b"}, {"a": "b", "b": "a"}, {"b": "a"}, {"c": "a", "a": "c"}):
        reader = record(*({"name": name, "aliases": [alias], **nullable} for name, alias in fields.items()))
        expected = by_java(pulsar, writer, reader, payload)
        [row] = decoded("AVRO", reader, entries(payload), writer)
        assert "refused" in expected or row == expected["value"], fields
