"""Generated versions of an Avro record, each in its own topic, read as one table.

Each message is read as fastavro reads it by the same document, and nothing of it is lost.
"""

import copy
import io
import json
from typing import Any

import fastavro
from hypothesis import event, given, settings, strategies as st
from property.arrow_strategies import comparable
from property.avro_evolution_strategies import evolved_fields, named, records, values
from property.test_avro_resolution import members_merged
from unit.codec.raw_payloads import avro_bytes, decoded, entries

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.family.topics import topic_family
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

TOPICS = [TopicName.parse(f"t{n}") for n in range(4)]


@st.composite
def families(draw: st.DrawFn) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The document of each topic, whose record is named after it, and a value of it."""
    base = named(draw(records()))
    topics = []
    for n in range(draw(st.integers(2, 4))):
        fields = (
            draw(evolved_fields(copy.deepcopy(base["fields"]))) if draw(st.booleans()) else base["fields"]
        )
        document = json.loads(json.dumps(base | {"name": f"topic_{n}", "fields": fields}))
        topics.append((document, draw(values(document))))
    return topics


def without_additions(value: Any, written: Any) -> Any:
    """`value`, as far as the writer has it, by names and old names; what both mean is the same."""
    if isinstance(value, dict) and isinstance(written, dict):
        return {
            key: without_additions(
                value.get(key, value.get(f"{key}_new", value.get(key.removesuffix("_new")))), item
            )
            for key, item in written.items()
        }
    if isinstance(value, list) and isinstance(written, list) and len(value) == len(written):
        return [without_additions(one, other) for one, other in zip(value, written, strict=True)]
    if isinstance(value, bytes) and isinstance(written, str):
        return value.decode()
    if isinstance(value, str) and isinstance(written, bytes):
        return value.encode()
    if {type(value), type(written)} == {int, float}:
        return type(written)(value)
    return value


@settings(print_blob=True, deadline=None, max_examples=500)
@given(families())
def test_one_table_reads_all(topics: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    infos = [SchemaInfo("x", SchemaType.AVRO, json.dumps(document).encode()) for document, _ in topics]
    try:
        family = topic_family(dict(zip(TOPICS, infos, strict=False)))
    except SchemaError:
        event("refused")
        return
    assert family.info is not None
    union = json.loads(family.info.text)
    event("read")
    for document, value in topics:
        payload = avro_bytes(document, value)
        [row] = decoded("AVRO", union, entries(payload), document)
        own, wanted = (
            fastavro.parse_schema(copy.deepcopy(document)),
            fastavro.parse_schema(copy.deepcopy(union)),
        )
        expected = fastavro.schemaless_reader(io.BytesIO(payload), own, wanted | {"name": own["name"]})
        # fastavro uses the first branch of the reader's union that fits; the kernel and Java use the branch
        # of the same type. It also leaves some numbers unconverted if the reader's type is a wider one.
        assert comparable(without_additions(members_merged(row), expected)) == comparable(expected)
        assert row.keys() == expected.keys()
        written = fastavro.schemaless_reader(io.BytesIO(payload), own)
        assert comparable(without_additions(members_merged(row), written)) == comparable(written)
