"""Matching of the fields of two Protobuf plans by number, because messages contain only field numbers. Pure.

No outcome is `unclear`, because the kernel keeps the payload of a message unless the columns reproduce the exact bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.history.columnar.columns.field_matches import Found, by_name, rename_column

_WIDENED: Final = (("int32", "int64"),)
_MESSAGES: Final = ("message", "group")

Node = Mapping[str, Any]
"""A part of a plan's document (`schema.protobuf.plan`)."""


class ProtobufFields:
    """A matcher of two Protobuf plans: the plan of a reader, and the plan with which rows were written."""

    def __init__(self, tiered: str, reader: str) -> None:
        self._tiered: Node = json.loads(tiered)
        self._reader: Node = json.loads(reader)

    def columns(self, stored: Sequence[pa.Field], found: Found) -> list[pa.Field]:
        """Return the stored columns, renamed to the reader's names, and record the outcome in `found`."""
        return self._message(0, 0, stored, found)

    def _message(self, tiered: int, reader: int, stored: Sequence[pa.Field], found: Found) -> list[pa.Field]:
        written = {node["number"]: node for node in self._tiered["messages"][tiered]["fields"]}
        if self._joins_fields(written, reader):
            found.decode()
        columns, out = by_name(stored), []
        for member in self._reader["messages"][reader]["fields"]:
            source = written.get(member["number"])
            if source is None:
                # No column stores this field, so the kernel keeps the payload of each message that contains the field.
                # All other messages lack the field.
                if member["shape"] == "required":
                    found.decode()
                continue
            below = found.below(member["name"])
            column = columns.get(source["name"])
            kind = self._field(source, member, pa.null() if column is None else column.type, below)
            if column is not None:
                out.append(rename_column(column, member["name"], kind))
        return out

    def _joins_fields(self, written: Mapping[int, Node], reader: int) -> bool:
        """Return whether a oneof of the reader has fields that can occur together in a written message.

        In this case, a reader returns only the last of these fields in the message. Only the decoder knows which field
        is the last one.
        """
        oneofs: dict[int, set[tuple[str, int]]] = {}
        for member in self._reader["messages"][reader]["fields"]:
            source = written.get(member["number"])
            if source is not None and member.get("oneof") is not None:
                oneof = source.get("oneof")
                group = ("field", source["number"]) if oneof is None else ("oneof", oneof)
                oneofs.setdefault(member["oneof"], set()).add(group)
        return any(len(groups) > 1 for groups in oneofs.values())

    def _field(self, tiered: Node, reader: Node, kind: pa.DataType, found: Found) -> pa.DataType:
        if any(tiered.get(name) != reader.get(name) for name in ("shape", "absent")):
            found.decode()
            return kind
        if tiered["shape"] == "map":
            return self._map(tiered, reader, kind, found)
        if tiered["shape"] == "repeated":
            is_list = types.is_list(kind)
            item = self._item(tiered, reader, kind.value_type if is_list else pa.null(), found)
            return pa.list_(kind.value_field.with_type(item)) if is_list else kind
        return self._item(tiered, reader, kind, found)

    def _map(self, tiered: Node, reader: Node, kind: pa.DataType, found: Found) -> pa.DataType:
        key, value = self._tiered["messages"][tiered["type"]]["fields"]
        reader_key, reader_value = self._reader["messages"][reader["type"]]["fields"]
        if key["kind"] != reader_key["kind"] or value.get("absent") != reader_value.get("absent"):
            found.decode()
            return kind
        item = self._item(value, reader_value, kind.item_type if types.is_map(kind) else pa.null(), found)
        return pa.map_(kind.key_field, kind.item_field.with_type(item)) if types.is_map(kind) else kind

    def _item(self, tiered: Node, reader: Node, kind: pa.DataType, found: Found) -> pa.DataType:
        if tiered["kind"] != reader["kind"]:
            if (tiered["kind"], reader["kind"]) not in _WIDENED:
                found.decode()
            return kind
        if tiered["kind"] == "enum":
            if self._enum(self._tiered, tiered) != self._enum(self._reader, reader):
                found.decode()
            return kind
        if tiered["kind"] not in _MESSAGES or tiered.get("type") is None or reader.get("type") is None:
            if tiered.get("type") != reader.get("type"):
                found.decode()
            return kind
        if self._differ_in_meaning(tiered, reader):
            found.decode()
            return kind
        members = list(kind) if types.is_struct(kind) else []
        inner = self._message(tiered["type"], reader["type"], members, found)
        return pa.struct(inner) if types.is_struct(kind) else kind

    def _differ_in_meaning(self, tiered: Node, reader: Node) -> bool:
        """Return whether two message types differ in their meaning as Protobuf's well-known types.

        A type that is not well known differs from each well-known type.
        """
        message, other = self._tiered["messages"][tiered["type"]], self._reader["messages"][reader["type"]]
        return bool(
            message.get("meaning") != other.get("meaning")
            or (
                message.get("meaning") == "wrapper"
                and message["fields"][0]["kind"] != other["fields"][0]["kind"]
            )
        )

    def _enum(self, plan: Node, field: Node) -> Any:
        return None if field.get("type") is None else plan["enums"][field["type"]]
