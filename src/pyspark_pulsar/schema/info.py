"""A schema as Pulsar's registry holds it.

The numbers and names are those of Java's `org.apache.pulsar.common.schema.SchemaType`; the wire numbers
are those of `Schema.Type` in PulsarApi.proto, which knows no negative ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from pyspark_pulsar.errors import SchemaError

_WIRE_AUTO_CONSUME = 21
VERSION_BYTES: Final = 8
"""Pulsar's own registry counts versions in big-endian longs."""


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
        """The number in a protocol `Schema`. BYTES and the AUTO types travel as None (0), except
        AUTO_CONSUME, which has its own number there."""
        if self is SchemaType.AUTO_CONSUME:
            return _WIRE_AUTO_CONSUME
        return max(int(self), 0)

    @classmethod
    def from_wire(cls, number: int) -> SchemaType:
        """The type of a protocol `Schema`. Raises SchemaError for a number of a newer Pulsar."""
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
        """The type by its REST name, such as "AVRO". Raises SchemaError for an unknown one."""
        try:
            return cls[name]
        except KeyError:
            raise SchemaError(
                f"schema type: expected one of {', '.join(cls.__members__)}, got {name!r}; "
                "read the topic as bytes, or upgrade pyspark-pulsar"
            ) from None


@dataclass(frozen=True)
class SchemaInfo:
    """One version of a topic's schema, or one that is yet to be registered.

    `document` is what the registry calls schema data: for AVRO and JSON an Avro schema as UTF-8 JSON,
    empty for primitives. `version` is the opaque registry version that messages carry; None before
    registration. `properties` are sorted by key, so that equal schemas compare equal.
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
        """From the pieces of a protocol `Schema` and the version that came beside it."""
        pairs = tuple(sorted(properties))
        return cls(name, SchemaType.from_wire(type_number), schema_data, pairs, version)

    @classmethod
    def from_rest(cls, *, name: str, answer: Mapping[str, object]) -> SchemaInfo:
        """From the JSON answer of `GET /admin/v2/schemas/{tenant}/{namespace}/{topic}/schema`.

        The registry's version number becomes the eight big-endian bytes that messages carry.
        """
        kind, data, number = answer.get("type"), answer.get("data", ""), answer.get("version")
        properties = answer.get("properties") or {}
        whole = isinstance(kind, str) and isinstance(data, str) and isinstance(number, int | None)
        if not whole or not isinstance(properties, Mapping):
            raise SchemaError(
                f"schema of {name}: expected an object with type, data, version and properties, got "
                f"{dict(answer)!r}; check that the admin URL is Pulsar's"
            )
        version = None if number is None else _version_bytes(number)
        pairs = tuple(sorted((str(key), str(value)) for key, value in properties.items()))
        return cls(name, SchemaType.from_name(str(kind)), str(data).encode(), pairs, version)

    @property
    def version_count(self) -> int | None:
        """The version as Pulsar's own registry counts them, from 0; None before registration, and where another
        registry calls it something else."""
        is_count = self.version is not None and len(self.version) == VERSION_BYTES
        return int.from_bytes(self.version or b"", "big", signed=True) if is_count else None

    @property
    def text(self) -> str:
        """The document as text. Raises SchemaError when it is not UTF-8."""
        try:
            return self.document.decode()
        except UnicodeDecodeError as error:
            raise SchemaError(
                f"schema {self.name} ({self.type.name}): expected a document in UTF-8, got bytes "
                f"that are not ({error.reason} at byte {error.start}); register the schema again"
            ) from None


def _version_bytes(number: object) -> bytes:
    return int(str(number)).to_bytes(VERSION_BYTES, "big", signed=True)
