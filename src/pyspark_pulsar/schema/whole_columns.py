"""Whether the columns of a schema hold all that messages of a version say, as far as schemas tell.

A table keeps the columns of a message and lets its payload go. A later reader may resolve the message to another
schema, so the columns must be as good as the payload. For JSON and Protobuf the kernel looks at each message. An Avro
message is exactly what its writer's schema says: its columns are whole where they were made by that very schema, where
no type loses digits on the way, and where a table stores the columns of all types. It stores none of a struct without
members, so it cannot tell an empty record from null. The kernel looks for maps and decimals in odd forms.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pyspark_pulsar.schema.avro import tree
from pyspark_pulsar.schema.info import SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema
from pyspark_pulsar.schema.primitive import RECORD_TYPES

_AVRO: Final = RECORD_TYPES[SchemaType.AVRO]
_FINER_THAN_COLUMNS: Final = ("timestamp-nanos", "local-timestamp-nanos", "duration")


def columns_are_whole(reader: PayloadSchema, written: PayloadSchema, own: PayloadSchema | None) -> bool:
    """Return whether the columns of `reader` hold all that messages written with `written` say.

    Args:
        reader: The schema whose columns are kept.
        written: What messages of a version were written with.
        own: What messages of the version that `reader` was made from are written with; None for messages that name no
            version, which each reader takes for messages of its own.

    Returns:
        True for types other than Avro, whose messages the kernel looks at.

    """
    if reader.pair is not None:
        return all(
            columns_are_whole(side, _side(written, name), None if own is None else _side(own, name))
            and _is_stored_side(side)
            for name, side in (("key", reader.pair.key), ("value", reader.pair.value))
        )
    if reader.value_type != _AVRO:
        return True
    if reader.omitted or reader.shows_more or own is None:
        return False
    if written.definition is None or own.definition is None:
        return False
    record = tree.parse(written.definition)
    is_same = record == tree.parse(own.definition)
    is_stored = all(_is_column(member.type) for member in record.fields)
    return is_same and is_stored and not _is_finer(json.loads(written.definition))


def _side(payload: PayloadSchema, name: str) -> PayloadSchema:
    if payload.pair is None:
        return payload
    return payload.pair.key if name == "key" else payload.pair.value


def _is_stored_side(side: PayloadSchema) -> bool:
    """Return whether a table stores the struct of a pair's side."""
    if side.value_type != _AVRO or side.definition is None:
        return True
    return _is_column(tree.parse(side.definition))


def _is_column(kind: tree.Type) -> bool:
    """Return whether a table stores the column of a type, and those of all types within; null needs none."""
    return kind == tree.NULL or (_has_leaf(kind) and all(map(_is_column, _within(kind))))


def _has_leaf(kind: tree.Type) -> bool:
    """Return whether anything is left of a column without structs that have no members."""
    if isinstance(kind, tree.Omitted) or kind == tree.NULL:
        return False
    inner = _within(kind)
    return any(map(_has_leaf, inner)) if inner or isinstance(kind, tree.RecordType) else True


def _within(kind: tree.Type) -> tuple[tree.Type, ...]:
    match kind:
        case tree.RecordType():
            return tuple(member.type for member in kind.fields)
        case tree.Union():
            return kind.branches
        case tree.Array():
            return (kind.items,)
        case tree.Map():
            return (kind.values,)
    return ()


def _is_finer(node: Any) -> bool:
    """Return whether some type within has values that a column cuts."""
    if isinstance(node, list):
        return any(map(_is_finer, node))
    if not isinstance(node, dict):
        return False
    return node.get("logicalType") in _FINER_THAN_COLUMNS or any(map(_is_finer, node.values()))
