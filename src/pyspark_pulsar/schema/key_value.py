"""KEY_VALUE schemas, which combine a key schema and a value schema in one registry schema.

The schema data is `i32 length, data of the key's schema, i32 length, data of the value's schema`, with big-endian
lengths. A length of -1 or 0 means empty data, for which Java writes -1. The properties contain the names, types and
properties of both schemas. The property `kv.encoding.type` is SEPARATED if the message key contains the key of the
pair, and INLINE if the payload does. Source: `org.apache.pulsar.client.impl.schema.KeyValueSchemaInfo` of Pulsar 4.0.8.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

SCHEMA_NAME: Final = "KeyValue"
"""The name that Java's client registers for every KEY_VALUE schema."""

_ENCODING: Final = "kv.encoding.type"
_INLINE: Final = "INLINE"
_SEPARATED: Final = "SEPARATED"
_LENGTH: Final = struct.Struct(">i")
_ADVICE: Final = "register the schema again with Pulsar's own client"


@dataclass(frozen=True)
class KeyValueSchemas:
    """The key schema and the value schema of a KEY_VALUE schema.

    If `separated` is true, the message key contains the key of the pair. Otherwise the payload contains key and value.
    """

    key: SchemaInfo
    value: SchemaInfo
    separated: bool


def split(info: SchemaInfo, *, topic: str) -> KeyValueSchemas:
    """Return the key schema and the value schema of a KEY_VALUE schema.

    Raises:
        SchemaError: If the schema is malformed, or if its key or value is another KEY_VALUE schema.

    """
    where = f"topic {topic}, KEY_VALUE schema"
    properties = dict(info.properties)
    encoding = properties.get(_ENCODING) or _INLINE
    if encoding not in (_INLINE, _SEPARATED):
        raise SchemaError(
            f"{where}: expected {_ENCODING} {_INLINE} or {_SEPARATED}, got {encoding!r}; {_ADVICE}"
        )
    key_data, rest = _take(info.document, f"{where}, key")
    value_data, rest = _take(rest, f"{where}, value")
    if rest:
        raise SchemaError(
            f"{where}: expected no data after its two schemas, got {len(rest)} bytes; {_ADVICE}"
        )
    key = _side("key", key_data, properties, where)
    value = _side("value", value_data, properties, where)
    return KeyValueSchemas(key, value, encoding == _SEPARATED)


def join(schemas: KeyValueSchemas) -> SchemaInfo:
    """Return the KEY_VALUE schema to register for two schemas, in the form that Java's client writes."""
    sides = {"key": schemas.key, "value": schemas.value}
    document = b"".join(_LENGTH.pack(len(side.document)) + side.document for side in sides.values())
    properties = {_ENCODING: _SEPARATED if schemas.separated else _INLINE}
    for name, side in sides.items():
        properties[f"{name}.schema.name"] = side.name
        properties[f"{name}.schema.type"] = side.type.name
        properties[f"{name}.schema.properties"] = json.dumps(dict(side.properties), separators=(",", ":"))
    return SchemaInfo(SCHEMA_NAME, SchemaType.KEY_VALUE, document, tuple(sorted(properties.items())))


def _take(data: bytes, where: str) -> tuple[bytes, bytes]:
    if len(data) < _LENGTH.size:
        raise SchemaError(f"{where}: expected a length field of 4 bytes, got {len(data)} bytes; {_ADVICE}")
    (length,) = _LENGTH.unpack_from(data)
    rest = data[_LENGTH.size :]
    if length == -1:
        return b"", rest
    if not 0 <= length <= len(rest):
        raise SchemaError(f"{where}: expected a schema of {length} bytes, got {len(rest)} bytes; {_ADVICE}")
    return rest[:length], rest[length:]


def _side(name: str, data: bytes, properties: dict[str, str], where: str) -> SchemaInfo:
    kind = SchemaType.from_name(properties.get(f"{name}.schema.type", SchemaType.BYTES.name))
    if kind is SchemaType.KEY_VALUE:
        raise SchemaError(
            f"{where}, {name}: expected a primitive or a record, got another KEY_VALUE schema; "
            "use a record instead"
        )
    text = properties.get(f"{name}.schema.properties") or "{}"
    try:
        own = {str(key): str(value) for key, value in json.loads(text).items()}
    except (ValueError, AttributeError, RecursionError):
        raise SchemaError(
            f"{where}, {name}: expected properties as a JSON object, got {text[:80]!r}; {_ADVICE}"
        ) from None
    return SchemaInfo(properties.get(f"{name}.schema.name", ""), kind, data, tuple(sorted(own.items())))
