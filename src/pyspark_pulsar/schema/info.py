"""Schemas in the form of Pulsar's schema registry.

The schema types have the names and numbers of Java's `org.apache.pulsar.common.schema.SchemaType`. The wire numbers of
the types come from `Schema.Type` in PulsarApi.proto, which has no negative numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from pyspark_pulsar.errors import SchemaError

_WIRE_AUTO_CONSUME = 21
VERSION_BYTES: Final = 8
"""The length in bytes of a schema version in Pulsar's default registry.

The default registry numbers the versions of a schema from 0, as big-endian 64-bit integers.
"""


class SchemaType(IntEnum):
    """Pulsar's schema types, by the names that the REST API uses."""

    NONE = 0
    STRING = 1
    JSON = 2
    PROTOBUF = 3
    AVRO = 4
    BOOLEAN = 5
    INT8 = 6
    INT16 = 7
    INT32 = 8
    INT64 = 9
    FLOAT = 10
    DOUBLE = 11
    DATE = 12
    TIME = 13
    TIMESTAMP = 14
    KEY_VALUE = 15
    INSTANT = 16
    LOCAL_DATE = 17
    LOCAL_TIME = 18
    LOCAL_DATE_TIME = 19
    PROTOBUF_NATIVE = 20
    BYTES = -1
    AUTO = -2
    AUTO_CONSUME = -3
    AUTO_PUBLISH = -4

    @property
    def wire_number(self) -> int:
        """Return the number of the type in the protocol message `Schema`.

        The protocol has no number for BYTES, AUTO and AUTO_PUBLISH, so these types are sent as `None` (0).
        """
        if self is SchemaType.AUTO_CONSUME:
            return _WIRE_AUTO_CONSUME
        return max(int(self), 0)

    @classmethod
    def from_wire(cls, number: int) -> SchemaType:
        """Return the type with a number in the protocol message `Schema`. Raise SchemaError for an unknown number."""
        if number == _WIRE_AUTO_CONSUME:
            return cls.AUTO_CONSUME
        if 0 <= number <= cls.PROTOBUF_NATIVE:
            return cls(number)
        raise SchemaError(
            f"schema type: expected a number that Pulsar 4.0 defines (0 to {_WIRE_AUTO_CONSUME}), got "
            f"{number}; read the topic as bytes, or upgrade pyspark-pulsar"
        )

    @classmethod
    def from_name(cls, name: str) -> SchemaType:
        """Return the type with a name in the REST API, such as "AVRO". Raise SchemaError for an unknown name."""
        try:
            return cls[name]
        except KeyError:
            raise SchemaError(
                f"schema type: expected one of {', '.join(cls.__members__)}, got {name!r}; "
                "read the topic as bytes, or upgrade pyspark-pulsar"
            ) from None


@dataclass(frozen=True)
class SchemaInfo:
    """A version of a topic's schema, or a schema that is not registered yet.

    Attributes:
        name: The name of the schema in the registry.
        type: The type of the schema.
        document: The schema data in the registry: an Avro schema as UTF-8 JSON for AVRO and JSON, empty for primitives.
        properties: Pairs of key and value, sorted by key so that equal schemas compare equal.
        version: The opaque bytes by which the registry and messages identify the version; None before registration.

    """

    name: str
    type: SchemaType
    document: bytes = b""
    properties: tuple[tuple[str, str], ...] = ()
    version: bytes | None = None

    @classmethod
    def from_wire(
        cls,
        *,
        name: str,
        type_number: int,
        schema_data: bytes,
        properties: Iterable[tuple[str, str]] = (),
        version: bytes | None = None,
    ) -> SchemaInfo:
        """Return the schema in the fields of a protocol message `Schema`, with its version."""
        pairs = tuple(sorted(properties))
        return cls(name, SchemaType.from_wire(type_number), schema_data, pairs, version)

    @classmethod
    def from_rest(cls, *, name: str, answer: Mapping[str, object]) -> SchemaInfo:
        """Return the schema in the JSON response of `GET /admin/v2/schemas/{tenant}/{namespace}/{topic}/schema`.

        The version number becomes eight big-endian bytes, which is its form in messages.

        Raises:
            SchemaError: If the response has another form, or if this package does not know the schema type.

        """
        kind, data, number = answer.get("type"), answer.get("data", ""), answer.get("version")
        properties = answer.get("properties") or {}
        whole = isinstance(kind, str) and isinstance(data, str) and isinstance(number, int | None)
        if not whole or not isinstance(properties, Mapping):
            raise SchemaError(
                f"schema of {name}: expected an object with type, data, version and properties, got "
                f"{dict(answer)!r}; check that the admin URL belongs to Pulsar"
            )
        version = None if number is None else _version_bytes(number)
        pairs = tuple(sorted((str(key), str(value)) for key, value in properties.items()))
        return cls(name, SchemaType.from_name(str(kind)), str(data).encode(), pairs, version)

    @property
    def version_count(self) -> int | None:
        """Return the version number, which Pulsar's default registry counts from 0.

        The number is None before registration, and for a version that does not have eight bytes.
        """
        is_count = self.version is not None and len(self.version) == VERSION_BYTES
        return int.from_bytes(self.version or b"", "big", signed=True) if is_count else None

    @property
    def text(self) -> str:
        """Return the document as text. Raise SchemaError if the document is not UTF-8."""
        try:
            return self.document.decode()
        except UnicodeDecodeError as error:
            raise SchemaError(
                f"schema {self.name} ({self.type.name}): expected a document in UTF-8, got other "
                f"bytes ({error.reason} at byte {error.start}); register the schema again"
            ) from None


def _version_bytes(number: object) -> bytes:
    return int(str(number)).to_bytes(VERSION_BYTES, "big", signed=True)
