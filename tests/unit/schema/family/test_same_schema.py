import json

import pytest

from pyspark_pulsar.schema.family.same_schema import identity
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

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
    inline = info("\0" * 8, SchemaType.KEY_VALUE, **{"kv.encoding.type": "INLINE", "key.schema.name": "k"})
    separated = info("\0" * 8, SchemaType.KEY_VALUE, **{"kv.encoding.type": "SEPARATED"})
    assert identity(inline) != identity(separated)
    assert identity(inline) == identity(
        info("\0" * 8, SchemaType.KEY_VALUE, **{"kv.encoding.type": "INLINE"})
    )
