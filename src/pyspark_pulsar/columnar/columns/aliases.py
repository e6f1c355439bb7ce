"""Fields that a topic's schema calls by another name than before: Avro's aliases.

A reader resolves a message of an earlier version by the aliases of its own schema
(https://avro.apache.org/docs/1.11.1/specification/#aliases). In a table the column gets the new name, and keeps its
field id. So the values of earlier files are still its own. JSON and Protobuf know no aliases.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro import tree
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.payload import KEY_COLUMN, PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES, VALUE_COLUMN


def renamed_fields(payload: PayloadSchema, columns: pa.Schema) -> dict[str, str]:
    """From the path of a field in the table, with dots between the names, to its name in the topic's schema."""
    renamed: dict[str, str] = {}
    if payload.pair is not None:
        for name, side in ((KEY_COLUMN, payload.pair.key), (VALUE_COLUMN, payload.pair.value)):
            if name in columns.names and types.is_struct(columns.field(name).type):
                inner = renamed_fields(side, pa.schema(list(columns.field(name).type)))
                renamed |= {f"{name}.{path}": new for path, new in inner.items()}
        return renamed
    if payload.value_type == RECORD_TYPES[SchemaType.AVRO] and payload.definition is not None:
        _collect(tree.parse(payload.definition), list(columns), "", renamed)
    return renamed


def _collect(record: tree.RecordType, fields: Iterable[pa.Field], path: str, renamed: dict[str, str]) -> None:
    present = {field.name: field for field in fields}
    taken = {member.name for member in record.fields}
    for member in record.fields:
        former = member.name
        if former not in present:
            former = next((name for name in member.aliases if name in present and name not in taken), "")
            if not former:
                continue
            renamed[f"{path}{former}"] = member.name
        _within(member.type, present[former].type, f"{path}{former}", renamed)


def _within(node: tree.Type, kind: pa.DataType, path: str, renamed: dict[str, str]) -> None:
    others = [branch for branch in tree.branches(node) if branch != tree.NULL]
    if len(others) > 1 and types.is_struct(kind):
        for branch, member in zip(tree.held_members(node), kind, strict=False):
            _within(branch, member.type, f"{path}.{member.name}", renamed)
        return
    only = others[0] if others else node
    if isinstance(only, tree.RecordType) and types.is_struct(kind):
        _collect(only, list(kind), f"{path}.", renamed)
    elif isinstance(only, tree.Array) and types.is_list(kind):
        _within(only.items, kind.value_type, f"{path}.element", renamed)
    elif isinstance(only, tree.Map) and types.is_map(kind):
        _within(only.values, kind.item_type, f"{path}.value", renamed)
