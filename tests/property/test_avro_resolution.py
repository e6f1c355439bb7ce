"""Generated pairs of Avro schemas: a message of one, read by the other, is what fastavro makes of it."""

import io
from typing import Any

import fastavro
from hypothesis import assume, event, given, settings, strategies as st
from property.arrow_strategies import comparable
from property.avro_evolution_strategies import evolved_fields, named, records, values
from unit.codec.raw_payloads import avro_bytes, decoded, entries

from pyspark_pulsar.errors import DecodeError, SchemaError


@st.composite
def messages(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The writer's schema, the reader's, and a value of the writer's."""
    writer = named(draw(records()))
    reader = {**writer, "fields": draw(evolved_fields(writer["fields"]))}
    return writer, reader, draw(values(writer))


def by_fastavro(writer: dict[str, Any], reader: dict[str, Any], payload: bytes) -> Any:
    """Return the value as the reader's schema resolves it, or None if it cannot be read."""
    try:
        # Each with names of its own: fastavro changes what it is given.
        own, wanted = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
        return fastavro.schemaless_reader(io.BytesIO(payload), own, wanted)
    except (fastavro.read.SchemaResolutionError, ValueError, IndexError):
        return None


def filled(kind: Any) -> Any:
    """A value without a null or an empty list, so that every type of the schema has one."""
    if isinstance(kind, list):
        return filled(next(branch for branch in kind if branch != "null"))
    if isinstance(kind, dict):
        match kind["type"]:
            case "enum":
                return kind["symbols"][0]
            case "fixed":
                return bytes(kind["size"])
            case "array":
                return [filled(kind["items"])]
            case "map":
                return {"k": filled(kind["values"])}
        return {field["name"]: filled(field["type"]) for field in kind["fields"]}
    return {"boolean": False, "string": "", "bytes": b""}.get(kind, 0)


def members_merged(value: Any) -> Any:
    """A union's struct as the one value in it."""
    if isinstance(value, list):
        return [members_merged(each) for each in value]
    if isinstance(value, dict):
        if value and all(key.startswith("member") for key in value):
            found = [members_merged(each) for each in value.values() if each is not None]
            assert len(found) == 1
            return found[0]
        return {key: members_merged(each) for key, each in value.items()}
    return value


@settings(print_blob=True, deadline=None, max_examples=600)
@given(messages())
def test_as_fastavro(message: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    writer, reader, value = message
    payload = avro_bytes(writer, value)
    expected = by_fastavro(writer, reader, payload)
    try:
        [row] = decoded("AVRO", reader, entries(payload), writer)
    except DecodeError:
        event("value refused")
        assert expected is None
        return
    except SchemaError:
        # Found before any value is read; fastavro finds it when a value leads there.
        event("schema refused")
        assert by_fastavro(writer, reader, avro_bytes(writer, filled(writer))) is None
        return
    # What only we read: a nullable field that the writer lacks needs no default here.
    assume(expected is not None)
    event("read")
    assert comparable(members_merged(row)) == comparable(expected)
