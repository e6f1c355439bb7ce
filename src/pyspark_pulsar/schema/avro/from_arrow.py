"""Conversion of Arrow schemas to Avro documents. A write registers the document for a topic without a schema.

`avro.to_arrow` has the inverse conversion. Timestamps have microseconds, as in Spark. Integers of 8 and 16 bits become
Avro's int. Decimals become Avro decimals on bytes. A nullable field becomes `["null", type]` with the default null, so
that later versions of the schema can drop or add the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.types.type_text import spark_mark, type_text

_LEGAL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_ATOMS: Final[tuple[tuple[pa.DataType, str | dict[str, str]], ...]] = (
    (pa.bool_(), "boolean"),
    (pa.int8(), "int"),
    (pa.int16(), "int"),
    (pa.int32(), "int"),
    (pa.int64(), "long"),
    (pa.float32(), "float"),
    (pa.float64(), "double"),
    (pa.string(), "string"),
    (pa.large_string(), "string"),
    (pa.binary(), "bytes"),
    (pa.large_binary(), "bytes"),
    (pa.date32(), {"type": "int", "logicalType": "date"}),
)


def legal_name(text: str) -> str:
    """Return a legal Avro name: the text with underscores for all characters that Avro forbids."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if _LEGAL_NAME.fullmatch(name) else f"_{name}"


def record_document(columns: pa.Schema, *, record_name: str, where: str) -> str:
    """Return the Avro document of a record whose fields are the columns, as compact JSON.

    Args:
        columns: The columns.
        record_name: A legal Avro name (`legal_name`). The name of a nested record consists of this name and its path.
        where: The topic, for errors.

    Raises:
        SchemaError: If Avro cannot represent a column. The error lists all such columns.

    """
    builder = _RecordBuilder()
    node = builder.record(columns, record_name, "")
    if builder.faults:
        faults = "; ".join(builder.faults)
        raise SchemaError(f"{where}: expected columns that an Avro record can hold, got {faults}")
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False)


@dataclass
class _RecordBuilder:
    """The state of one conversion: the record names in use, and the faults of columns that Avro cannot represent."""

    names: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def record(self, members: Iterable[pa.Field], name: str, path: str) -> dict[str, Any]:
        self.names.add(name)
        fields: list[dict[str, Any]] = []
        seen: set[str] = set()
        for member in members:
            below = f"{path}.{member.name}" if path else member.name
            if not _LEGAL_NAME.fullmatch(member.name):
                advice = f"rename it, for example to {legal_name(member.name)}"
                self.faults.append(
                    f"column {below}, whose name is not letters, digits and underscores ({advice})"
                )
            if member.name in seen:
                self.faults.append(f"column {below} twice (rename one)")
            seen.add(member.name)
            node: dict[str, Any] = {"name": member.name, "type": self.nullable(member, below, name)}
            if member.nullable:
                node["default"] = None
            fields.append(node)
        return {"type": "record", "name": name, "fields": fields}

    def nullable(self, member: pa.Field, path: str, name: str) -> Any:
        node = self.node(member.type, path, name)
        return ["null", node] if member.nullable else node

    def node(self, kind: pa.DataType, path: str, name: str) -> Any:
        for atom, avro_type in _ATOMS:
            if atom == kind:
                return avro_type
        if types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
            return {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": kind.precision,
                "scale": kind.scale,
            }
        if types.is_timestamp(kind):
            local = "" if kind.tz else "local-"
            return {"type": "long", "logicalType": f"{local}timestamp-micros"}
        if types.is_time(kind):
            return {"type": "long", "logicalType": "time-micros"}
        if types.is_list(kind) or types.is_large_list(kind):
            return {"type": "array", "items": self.nullable(kind.value_field, f"{path}[]", name)}
        if types.is_map(kind) and types.is_string(kind.key_type):
            return {"type": "map", "values": self.nullable(kind.item_field, f"{path}{{}}", name)}
        if types.is_struct(kind) and spark_mark(kind) is None:
            return self.record(kind, self.unused_name(f"{name}_{legal_name(path.rpartition('.')[2])}"), path)
        self.faults.append(
            f"column {path} of type {type_text(kind)} (cast it to a type that Avro has, or drop it)"
        )
        return "null"

    def unused_name(self, base: str) -> str:
        name, number = base, 2
        while name in self.names:
            name, number = f"{base}_{number}", number + 1
        return name
