"""The schemas by which the rows of a table were tiered, in the form that the table stores.

The meaning of a column's name can change: a field is renamed, another field gets its name, or an engine renames the
column. So each row names the topic's schema by which the row was tiered (`layout.TIERED_BY`). The table stores each of
these schemas with the columns to which its fields were written.

The id of a schema is a hash of its contents. So if two processes tier by different schemas at the same time, neither
process changes the meaning of the other's rows.

The name of the property is `pulsar.schema.<id>`, with the id in hexadecimal digits. Its value is `<digest>:<document>`.
The digest identifies the topic's schema. The document is JSON, compressed by zlib, in base64. Its Arrow schemas are IPC
messages in base64.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.schema.payload import KeyValuePair, PayloadSchema, columns_of
from pyspark_pulsar.schema.types.exchange import readable

PREFIX: Final = "pulsar.schema."
"""The prefix of the names of properties that contain a schema."""
_ID_BYTES: Final = 8
_LARGEST: Final = 1 << 28
"""The largest document, in bytes. Other programs can write to the table that contains the document."""


@dataclass(frozen=True)
class TieredSchema:
    """A schema of a topic, and the columns of a table that contain its fields."""

    digest: str
    """Equal schemas of the topic have equal digests."""
    payload: PayloadSchema
    """The encoding of messages in bytes."""
    stored: pa.Schema
    """The columns in the files, under the schema's names.

    The columns have field ids if the table's format has them. A field without a column in the table is omitted.
    """
    keeps_all: bool
    """True if the payloads of all messages are kept.

    This is so if the table lacks a column for some field, or the schema has no fields.
    """

    @cached_property
    def values(self) -> pa.Schema:
        """Return the value columns of a read by this schema, in Spark's types."""
        return pa.schema([readable(column) for column in columns_of(self.payload)])

    @cached_property
    def stored_values(self) -> pa.Schema:
        """Return the columns of `stored` that are value columns."""
        names = frozenset(self.values.names)
        return pa.schema([column for column in self.stored if column.name in names])

    @property
    def text(self) -> str:
        """Return the value of the property."""
        document = {
            "payload": _payload_json(self.payload),
            "values": _columns_text(columns_of(self.payload)),
            "stored": _columns_text(self.stored),
            "keepsAll": self.keeps_all,
        }
        packed = zlib.compress(json.dumps(document, sort_keys=True).encode(), 9)
        return f"{self.digest}:{base64.b64encode(packed).decode()}"


def schema_id(text: str) -> int:
    """Return the id of the schema in a property's value, as a signed 64-bit integer for `layout.TIERED_BY`."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_ID_BYTES], "big", signed=True)


def property_of(text: str) -> str:
    """Return the name of the property that contains `text`."""
    return f"{PREFIX}{schema_id(text) & (1 << 8 * _ID_BYTES) - 1:016x}"


def schema_texts(properties: Mapping[str, str]) -> dict[int, str]:
    """Return the texts of the schemas in a table's properties, by their ids."""
    texts = [text for name, text in properties.items() if name.startswith(PREFIX)]
    return {schema_id(text): text for text in texts}


def texts_of(texts: Mapping[int, str], digest: str) -> Iterator[str]:
    """Yield the texts of the schemas with this digest."""
    for text in texts.values():
        if text.partition(":")[0] == digest:
            yield text


@lru_cache(maxsize=256)
def parse_tiered_schema(text: str, where: str) -> TieredSchema:
    """Parse the schema in a property's value.

    Args:
        text: The property's value.
        where: The table, for errors.

    Raises:
        ProtocolError: This version cannot read the value.

    """
    digest, _, packed = text.partition(":")
    try:
        unpacker = zlib.decompressobj()
        document = json.loads(unpacker.decompress(base64.b64decode(packed, validate=True), _LARGEST))
        return TieredSchema(
            digest,
            _payload(document["payload"], list(_columns(document["values"]))),
            _columns(document["stored"]),
            bool(document["keepsAll"]),
        )
    except (ValueError, KeyError, TypeError, zlib.error, pa.ArrowException) as fault:
        raise ProtocolError(
            f"{where}: expected a schema in property {property_of(text)}, got one that this version cannot read "
            f"({fault!r}); upgrade pyspark-pulsar, or drop the table and tier the topic again"
        ) from None


def _payload_json(payload: PayloadSchema) -> dict[str, Any]:
    pair = payload.pair
    if pair is None:
        return {"type": payload.value_type, "definition": payload.definition}
    sides = {"key": _payload_json(pair.key), "value": _payload_json(pair.value)}
    return {"type": payload.value_type, "separated": pair.separated, **sides}


def _payload(document: Mapping[str, Any], columns: Sequence[pa.Field]) -> PayloadSchema:
    """Return a schema with these columns, in the units of its definition. A schema without a record has one column."""
    if "key" in document:
        key, value = (
            _payload(document[name], list(column.type) if types.is_struct(column.type) else [column])
            for name, column in zip(("key", "value"), columns, strict=True)
        )
        pair = KeyValuePair(key, value, separated=bool(document["separated"]))
        return PayloadSchema(document["type"], pair=pair)
    definition = document["definition"]
    return PayloadSchema(document["type"], None if definition is None else pa.schema(columns), definition)


def _columns_text(columns: pa.Schema) -> str:
    return base64.b64encode(columns.serialize().to_pybytes()).decode()


def _columns(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
