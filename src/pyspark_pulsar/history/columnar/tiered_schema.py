"""The schemas with which the rows of a table were written, in the form that the table stores.

The meaning of a column name can change. For example, a field is renamed, and a new field gets the earlier name. So each
row contains the id of the topic's schema with which the row was written (`layout.TIERED_BY`). For each of these
schemas, the table stores the columns to which the fields of the schema were written.

The id of a schema is a hash of the schema's contents. So if two processes tier with different schemas at the same time,
the ids differ.

The table stores each schema in a property with the name `pulsar.schema.<id>`, where the id is in hexadecimal digits.
The value of the property is `<digest>:<document>`. The digest identifies the topic's schema. The document is JSON,
compressed by zlib, in base64. The Arrow schemas in the document are IPC messages in base64.
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
"""The prefix of the names of table properties that contain a schema."""
_ID_BYTES: Final = 8
_LARGEST: Final = 1 << 28
"""The largest document that is read, in bytes. A limit is needed because other programs can change the document."""


@dataclass(frozen=True)
class TieredSchema:
    """A schema of a topic, and the columns of a table that contain its fields."""

    digest: str
    """The digest of the schema. Equal schemas of the topic have equal digests."""
    payload: PayloadSchema
    """The schema with which the payloads of messages are encoded."""
    stored: pa.Schema
    """The columns in the files, with the names of the schema's fields.

    The columns have field ids if the table's format uses field ids. A field without a column in the table is omitted.
    """
    keeps_all: bool
    """True if the table contains the payloads of all messages of this schema.

    The table needs the payloads if a field of the schema has no column, or if the schema has no fields.
    """

    @cached_property
    def values(self) -> pa.Schema:
        """Return the value columns that a read with this schema returns, in Spark's types."""
        return pa.schema([readable(column) for column in columns_of(self.payload)])

    @cached_property
    def stored_values(self) -> pa.Schema:
        """Return the value columns in `stored`."""
        names = frozenset(self.values.names)
        return pa.schema([column for column in self.stored if column.name in names])

    @property
    def text(self) -> str:
        """Return the value of the table property that stores this schema."""
        document = {
            "payload": _payload_json(self.payload),
            "values": _columns_text(columns_of(self.payload)),
            "stored": _columns_text(self.stored),
            "keepsAll": self.keeps_all,
        }
        packed = zlib.compress(json.dumps(document, sort_keys=True).encode(), 9)
        return f"{self.digest}:{base64.b64encode(packed).decode()}"


def schema_id(text: str) -> int:
    """Return the id of the schema in a property's value: a signed 64-bit integer, as in `layout.TIERED_BY`."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_ID_BYTES], "big", signed=True)


def property_of(text: str) -> str:
    """Return the name of the table property whose value is `text`."""
    return f"{PREFIX}{schema_id(text) & (1 << 8 * _ID_BYTES) - 1:016x}"


def schema_texts(properties: Mapping[str, str]) -> dict[int, str]:
    """Return a mapping from the ids to the texts of the schemas in a table's properties."""
    texts = [text for name, text in properties.items() if name.startswith(PREFIX)]
    return {schema_id(text): text for text in texts}


def texts_of(texts: Mapping[int, str], digest: str) -> Iterator[str]:
    """Yield the texts of the schemas that have the digest `digest`."""
    for text in texts.values():
        if text.partition(":")[0] == digest:
            yield text


@lru_cache(maxsize=256)
def parse_tiered_schema(text: str, where: str) -> TieredSchema:
    """Parse the schema in a property's value.

    Args:
        text: The property's value.
        where: A description of the table, for error messages.

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
    """Return the schema of a document.

    Args:
        document: The document, in the form of `_payload_json`.
        columns: The value columns, with the time units of the definition. A schema that is not a record has one value
            column.

    """
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
