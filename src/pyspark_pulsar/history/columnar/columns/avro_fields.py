"""Matching of the fields of two Avro documents. JSON schemas have Avro documents too. Pure.

Avro finds a field by its name, or by an alias in the reader's schema. If the writer's schema lacks a field, the value
is the default in the reader's schema (https://avro.apache.org/docs/1.11.1/specification/#schema-resolution). Members of
JSON messages have no aliases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.history.columnar.columns.field_matches import Found, by_name, rename_column
from pyspark_pulsar.schema.avro import tree

_WIDENED: Final = (("int", "long"),)
_WIDENED_IN_AVRO: Final = (*_WIDENED, ("float", "double"))
_RAW: Final = "any"
_EXACT_IN_JSON: Final = ("boolean", "int", "long", "string")
"""The types of JSON values whose exact text the value of a column determines. For values of other types, the kernel
keeps the payload.
"""


class AvroFields:
    """A matcher of two Avro documents: the schema of a reader, and the schema with which rows were written."""

    def __init__(self, tiered: str, reader: str, *, is_json: bool) -> None:
        self._tiered = tree.parse(tiered)
        self._reader = tree.parse(reader)
        self._is_json = is_json

    def columns(self, stored: Sequence[pa.Field], found: Found) -> list[pa.Field]:
        """Return the stored columns, renamed to the reader's names, and record the outcome in `found`."""
        return self._record(self._tiered, self._reader, stored, found)

    def _record(
        self, tiered: tree.RecordType, reader: tree.RecordType, stored: Sequence[pa.Field], found: Found
    ) -> list[pa.Field]:
        written, columns = {member.name: member for member in tiered.fields}, by_name(stored)
        sources = self._sources(written, reader, found)
        out = []
        for member in reader.fields:
            source = sources.get(member.name)
            if source is None:
                if not self._has_constant_value(member):
                    found.decode()  # Only the decoder knows the result for a message without the field.
                continue
            below = found.below(member.name)
            if (
                self._is_json
                and tree.is_nullable(source.type)
                and not tree.is_nullable(member.type)
                and _has_default(member)
                and not _has_default(source)
            ):
                below.give_up(
                    f"field {member.name} has a new default, and the table does not distinguish null from a missing "
                    f"field"
                )
            column = columns.get(source.name)
            if column is not None:
                kind = self._type(source.type, member.type, column.type, below)
                out.append(rename_column(column, member.name, kind))
            else:
                # No column contains the field, so either all values are null, or each row keeps its payload.
                self._type(source.type, member.type, pa.null(), below)
        return out

    def _has_constant_value(self, member: tree.Field) -> bool:
        """Return whether a field that the rows' schema lacks has the same value in all rows (`absent_values`)."""
        if self._is_json and tree.is_nullable(member.type):
            return True
        return member.default is not None and not (
            _has_default(member) and tree.has_several_types(member.type)
        )

    def _sources(
        self, written: Mapping[str, tree.Field], reader: tree.RecordType, found: Found
    ) -> dict[str, tree.Field]:
        """Return the matching fields of the rows' schema, by the names of the reader's fields."""
        names = {member.name for member in reader.fields}
        sources: dict[str, tree.Field] = {}
        for member in reader.fields:
            aliases = [] if self._is_json else [alias for alias in member.aliases if alias in written]
            if not aliases:
                if member.name in written:
                    sources[member.name] = written[member.name]
            elif len(aliases) == 1 and aliases[0] not in names and member.name not in written:
                sources[member.name] = written[aliases[0]]
            else:
                found.decode()  # Only the decoder knows which of the names takes precedence.
        taken = [source.name for source in sources.values()]
        if len(set(taken)) < len(taken):
            found.decode()
        return sources

    def _type(self, tiered: tree.Type, reader: tree.Type, kind: pa.DataType, found: Found) -> pa.DataType:
        if tiered == reader:
            return kind
        written, requested = tree.branches(tiered), tree.branches(reader)
        if len(written) != 1 or len(requested) != 1:
            self._differ(tiered, reader, found)
            return kind
        if tree.is_nullable(tiered) and not tree.is_nullable(reader):
            found.decode()
        return self._value(written[0], requested[0], kind, found)

    def _value(self, tiered: tree.Type, reader: tree.Type, kind: pa.DataType, found: Found) -> pa.DataType:
        if tiered == reader:
            return kind
        match tiered, reader:
            case tree.RecordType(), tree.RecordType():
                members = list(kind) if types.is_struct(kind) else []
                inner = self._record(tiered, reader, members, found)
                return pa.struct(inner) if types.is_struct(kind) else kind
            case tree.Array(), tree.Array():
                if not types.is_list(kind):
                    self._type(tiered.items, reader.items, pa.null(), found)
                    return kind
                item = self._type(tiered.items, reader.items, kind.value_type, found)
                return pa.list_(kind.value_field.with_type(item))
            case tree.Map(), tree.Map():
                if not types.is_map(kind):
                    self._type(tiered.values, reader.values, pa.null(), found)
                    return kind
                item = self._type(tiered.values, reader.values, kind.item_type, found)
                return pa.map_(kind.key_field, kind.item_field.with_type(item))
        if not self._is_read_as(tiered, reader):
            self._differ(tiered, reader, found)
        return kind

    def _is_read_as(self, tiered: tree.Type, reader: tree.Type) -> bool:
        """Return whether the reader sees each value of a leaf unchanged or only converted to a wider type."""
        match tiered, reader:
            case tree.Enum(), tree.Enum():
                return tiered.name == reader.name and set(tiered.symbols) <= set(reader.symbols)
            case tree.Leaf(), tree.Leaf():
                widened = _WIDENED if self._is_json else _WIDENED_IN_AVRO
                return _is_bare(tiered) and _is_bare(reader) and (tiered.kind, reader.kind) in widened
        return False

    def _differ(self, tiered: tree.Type, reader: tree.Type, found: Found) -> None:
        is_exact = all(map(_is_exact, tree.branches(tiered))) and not any(map(_is_raw, tree.branches(reader)))
        if self._is_json and not is_exact:
            found.give_up(
                f"a type in the column was changed from {_type_names(tiered)} to {_type_names(reader)}, and the table "
                f"does not store the values as JSON text"
            )
        found.decode()


def _has_default(member: tree.Field) -> bool:
    return member.default not in (None, tree.NULL_DEFAULT)


def _is_bare(leaf: tree.Leaf) -> bool:
    return leaf.logical is None and leaf.form is None


def _is_exact(kind: tree.Type) -> bool:
    return isinstance(kind, tree.Enum) or (
        isinstance(kind, tree.Leaf) and kind.kind in _EXACT_IN_JSON and _is_bare(kind)
    )


def _is_raw(kind: tree.Type) -> bool:
    """Return whether a reader returns the values of a type as JSON texts."""
    return isinstance(kind, tree.Leaf) and kind.form == _RAW


def _type_names(kind: tree.Type) -> str:
    return " or ".join(map(_type_name, tree.branches(kind))) or "null"


def _type_name(kind: tree.Type) -> str:
    return (isinstance(kind, tree.Leaf) and (kind.logical or kind.form)) or tree.label(kind)
