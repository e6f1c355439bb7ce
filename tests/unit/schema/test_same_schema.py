import json

import pytest

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.same_schema import identity, only_schema
from pyspark_pulsar.topic import TopicName

DOCUMENT = {
    "type": "record", "name": "R", "doc": "a record",
    "fields": [
        {"name": "id", "type": "int", "doc": "its number"},
        {"name": "doc", "type": ["null", "string"], "default": None},
        {"name": "m", "type": {"type": "map", "values": "string"}, "default": {"doc": "kept"}},
    ],
}  # fmt: skip


def info(document: object, kind: SchemaType = SchemaType.AVRO, **properties: str) -> SchemaInfo:
    text = document if isinstance(document, str) else json.dumps(document)
    return SchemaInfo("x", kind, text.encode(), tuple(sorted(properties.items())), b"\0" * 8)


def topic(name: str) -> TopicName:
    return TopicName.parse(name)


def test_texts_of_one_schema() -> None:
    plain = {
        "name": "R", "type": "record",
        "fields": [
            {"type": "int", "name": "id"},
            {"default": None, "name": "doc", "type": ["null", "string"]},
            {"name": "m", "type": {"type": "map", "values": "string"}, "default": {"doc": "kept"}},
        ],
    }  # fmt: skip
    assert identity(info(DOCUMENT)) == identity(info(json.dumps(plain, indent=4)))
    assert identity(info(DOCUMENT)) == identity(info(DOCUMENT, some="property"))
    assert identity(None) == identity(SchemaInfo("x", SchemaType.BYTES))
    kept = {topic("a"): info(DOCUMENT), topic("b"): info(json.dumps(plain, indent=4))}
    assert only_schema(kept) == kept[topic("a")]


@pytest.mark.parametrize(
    "other",
    [
        info(DOCUMENT, SchemaType.JSON),
        info(json.dumps(DOCUMENT).replace("int", "long")),
        info(json.dumps(DOCUMENT).replace('"kept"', '"other"')),
        info(json.dumps(DOCUMENT).replace('["null", "string"]', '["string", "null"]')),
        SchemaInfo("x", SchemaType.STRING),
        None,
    ],
)
def test_different_schemas(other: SchemaInfo | None) -> None:
    assert identity(info(DOCUMENT)) != identity(other)


def test_encoding_of_key_value_matters() -> None:
    inline = info("ab", SchemaType.KEY_VALUE, **{"kv.encoding.type": "INLINE", "key.schema.name": "k"})
    separated = info("ab", SchemaType.KEY_VALUE, **{"kv.encoding.type": "SEPARATED"})
    assert identity(inline) != identity(separated)
    assert identity(inline) == identity(info("ab", SchemaType.KEY_VALUE, **{"kv.encoding.type": "INLINE"}))


def test_the_error_lists_topics_by_schema() -> None:
    number = SchemaInfo("x", SchemaType.INT64)
    schemas = {topic("a"): number, topic("b"): info(DOCUMENT), topic("c"): None, topic("d"): info(DOCUMENT)}
    with pytest.raises(SchemaError) as caught:
        only_schema(schemas)
    text = str(caught.value)
    assert "got 3 different ones among 4 topics" in text
    assert "\n  - AVRO R(id, doc, m): persistent://public/default/b, persistent://public/default/d" in text
    assert "\n  - INT64: persistent://public/default/a" in text
    assert "\n  - no schema: persistent://public/default/c" in text
    assert "allowDifferentTopicSchemas=true" in text


def test_the_error_stays_short_for_thousands_of_topics() -> None:
    many = {topic(f"t{n}"): info(DOCUMENT | {"name": f"R{n % 40}"}) for n in range(4000)}
    with pytest.raises(SchemaError) as caught:
        only_schema(many)
    text = str(caught.value)
    assert len(text) < 4000
    assert "and 95 more" in text
    assert "30 more schemas" in text
