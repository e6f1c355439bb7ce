"""Unions of several schemas. A union is a schema that reads the messages of all these schemas.

Unions exist for AVRO and JSON (`avro.union`), for Protobuf (`protobuf.union`), and for KEY_VALUE. An inline and a
separated KEY_VALUE schema have a union, because each schema version contains its own encoding. Schemas with different
types have no union. For example, two different primitives have no union. Topics without a schema have no union with
topics that have a schema.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias, TypeVar

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.avro.column_document import column_document
from pyspark_pulsar.schema.avro.to_arrow import record_schema
from pyspark_pulsar.schema.avro.tree import RecordType, document, parse, width
from pyspark_pulsar.schema.avro.union import IncompatibleTypes, record_union
from pyspark_pulsar.schema.family.same_schema import identity, schema_text
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.payload import (
    PayloadSchema,
    pair_payload,
    payload_schema,
    protobuf_payload,
    value_document,
)
from pyspark_pulsar.schema.protobuf.plan import ProtobufPlan
from pyspark_pulsar.schema.protobuf.registry import PROTOBUF_TYPES, registered_plan
from pyspark_pulsar.schema.protobuf.union import plan_union
from pyspark_pulsar.schema.unfolding import UNFOLDED_ONCE, Unfolding

_BY_DOCUMENT: Final = (SchemaType.AVRO, SchemaType.JSON)

_Read = TypeVar("_Read")
_Type = TypeVar("_Type", RecordType, ProtobufPlan)


class SchemasDiffer(SchemaError):
    """An error for schemas that have no union. The text contains the reason and two of the schemas."""


@dataclass(frozen=True)
class Shape:
    """A value that is equal for schemas with equal columns. `width` is the number of fields in the schema."""

    essence: Hashable
    width: int = 0


def shape(info: SchemaInfo | None) -> Shape:
    """Return the shape of a schema.

    The shape of an invalid schema contains its identity (`same_schema.identity`), because a later read refuses the
    schema.
    """
    try:
        if info is not None and info.type in _BY_DOCUMENT:
            tree = _tree(info, "")
            return Shape((info.type, tree), width(tree))
        if info is not None and info.type is SchemaType.KEY_VALUE:
            pair = split(info, topic="")
            sides = (shape(pair.key), shape(pair.value))
            return Shape((info.type, pair.separated, *sides), sum(side.width for side in sides))
        if info is not None and info.type in PROTOBUF_TYPES:
            plan = _nameless(registered_plan(info, where=""))
            return Shape((info.type, plan), sum(len(message.fields) for message in plan.messages))
    except SchemaError:
        pass
    return Shape(identity(info))


def united(
    schemas: Mapping[str, SchemaInfo | None], unfolding: Unfolding = UNFOLDED_ONCE
) -> tuple[SchemaInfo | None, PayloadSchema | None]:
    """Return the schema and the format that read the messages of all schemas.

    If AVRO or JSON schemas differ, the result contains their union, which has no version. Otherwise the result contains
    the first schema. The format is None if `schemas` has only one schema, because the schema determines the format.

    Args:
        schemas: One or more schemas with different shapes, by the topic name that errors contain.
        unfolding: How types that contain themselves become columns.

    Raises:
        SchemasDiffer: If the schemas have no union.

    """
    names = list(schemas)
    first, *others = schemas.values()
    if not others:
        return first, None
    for name, other in zip(names[1:], others, strict=True):
        if first is None or other is None or first.type is not other.type or first.type not in _UNITED:
            raise SchemasDiffer(f"{schema_text(first)} in {names[0]}, {schema_text(other)} in {name}")
    infos = [info for info in schemas.values() if info is not None]
    payload = _UNITED[infos[0].type](names, infos, "", unfolding)
    if infos[0].type in _BY_DOCUMENT and payload.definition is not None:
        return replace(infos[0], document=payload.definition.encode(), version=None), payload
    return first, payload


def _documents(
    names: Sequence[str], infos: Sequence[SchemaInfo], side: str, unfolding: Unfolding
) -> PayloadSchema:
    trees = _each(names, infos, side, lambda info, where: _tree(info, where, unfolding))
    union = _union(names, side, partial(record_union, trees, by_name=infos[0].type is SchemaType.JSON))
    # If a topic's own document equals the union, the result contains the topic's document, because users know its text.
    own = next((info.text for tree, info in zip(trees, infos, strict=True) if tree == union), None)
    try:
        text = document(union) if own is None else own
    except ValueError as error:
        raise SchemasDiffer(f"{side}{error}") from None
    payload = payload_schema(replace(infos[0], document=text.encode()), topic=names[0], unfolding=unfolding)
    if own is not None:
        return payload
    # The union has only fields that columns can contain, so the omissions come from the documents of the topics.
    held = [column_document(info.text, unfolding, where=names[0]) for info in infos]
    omitted = dict.fromkeys(omission for one in held for omission in one.omitted)
    return replace(payload, omitted=tuple(omitted), shows_more=any(one.shows_more for one in held))


def _messages(
    names: Sequence[str], infos: Sequence[SchemaInfo], side: str, unfolding: Unfolding
) -> PayloadSchema:
    plans = _each(names, infos, side, lambda info, where: registered_plan(info, where=where))
    return protobuf_payload(_union(names, side, partial(plan_union, plans)), names[0], unfolding=unfolding)


def _pairs(
    names: Sequence[str], infos: Sequence[SchemaInfo], _side: str, unfolding: Unfolding
) -> PayloadSchema:
    pairs = _each(names, infos, "", lambda info, where: split(info, topic=where))
    key = _side_of(names, [pair.key for pair in pairs], "key", unfolding)
    value = _side_of(names, [pair.value for pair in pairs], "value", unfolding)
    return pair_payload(key, value, separated=pairs[0].separated)


def _side_of(
    names: Sequence[str], infos: Sequence[SchemaInfo], side: str, unfolding: Unfolding
) -> PayloadSchema:
    first, unfolding = infos[0], unfolding.of_side(side)
    for name, info in zip(names, infos, strict=True):
        if _payload_type(info) is not _payload_type(first):
            raise SchemasDiffer(
                f"field {side} is {schema_text(first)} in {names[0]}, {schema_text(info)} in {name}"
            )
    if first.type in _UNITED and len({shape(info) for info in infos}) > 1:
        return _UNITED[first.type](names, infos, f"{side}.", unfolding)
    return payload_schema(first, topic=f"{names[0]}, {side}", unfolding=unfolding)


_Unite: TypeAlias = Callable[[Sequence[str], Sequence[SchemaInfo], str, Unfolding], PayloadSchema]

_UNITED: Final[Mapping[SchemaType, _Unite]] = {
    SchemaType.AVRO: _documents,
    SchemaType.JSON: _documents,
    SchemaType.PROTOBUF: _messages,
    SchemaType.PROTOBUF_NATIVE: _messages,
    SchemaType.KEY_VALUE: _pairs,
}


def _tree(info: SchemaInfo, where: str, unfolding: Unfolding = UNFOLDED_ONCE) -> RecordType:
    text = column_document(value_document(info), unfolding, where=where).text
    record_schema(text, where=where)
    try:
        return parse(text)
    except RecursionError as error:
        raise SchemaError(
            f"{where}: expected an Avro schema of finite depth, got {error}; register a smaller schema"
        ) from None


def _nameless(plan: ProtobufPlan) -> ProtobufPlan:
    """Return a plan without the names of messages, which do not affect columns."""
    return replace(plan, messages=tuple(replace(message, name="") for message in plan.messages))


def _each(
    names: Sequence[str], infos: Sequence[SchemaInfo], side: str, read: Callable[[SchemaInfo, str], _Read]
) -> list[_Read]:
    where = f", {side[:-1]}" if side else ""
    try:
        return [read(info, f"topic {name}{where}") for name, info in zip(names, infos, strict=True)]
    except SchemaError as error:
        raise SchemasDiffer(str(error)) from None


def _union(names: Sequence[str], side: str, make: Callable[[], _Type]) -> _Type:
    try:
        return make()
    except IncompatibleTypes as fault:
        (one, has), (other, other_has) = fault.first, fault.second
        place = f"{side}{fault.path}".rstrip(".")
        what = f"field {place}" if place else "a message"
        raise SchemasDiffer(f"{what} is {has} in {names[one]}, {other_has} in {names[other]}") from None


def _payload_type(info: SchemaInfo) -> SchemaType:
    return SchemaType.BYTES if info.type is SchemaType.NONE else info.type
