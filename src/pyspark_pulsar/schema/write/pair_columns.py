"""Comparison of the columns `key` and `value` with a topic's KEY_VALUE schema, by name and type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyarrow import types

from pyspark_pulsar.schema.avro.to_arrow import field_defaults
from pyspark_pulsar.schema.payload import KEY_COLUMN, KeyValuePair, PayloadSchema, side_type
from pyspark_pulsar.schema.primitive import VALUE_COLUMN
from pyspark_pulsar.schema.read_schema import suggestion
from pyspark_pulsar.schema.types.type_text import type_text
from pyspark_pulsar.schema.write.absent_columns import absent_defaults
from pyspark_pulsar.schema.write.compatibility import cast_advice, record_mismatches, scalar_fits

SIDES: Final = (KEY_COLUMN, VALUE_COLUMN)

_AVRO_DOCUMENTS: Final = ("avro", "json")


@dataclass(frozen=True)
class PairColumns:
    """The columns `key` and `value` that the encoder receives, and their mismatches with the topic's schema.

    Attributes:
        columns: The columns. A struct also has a member for each field that the write stores as its default.
        defaults: Paths such as `value.status` of the fields that the write stores as their defaults, with the defaults.
        faults: The mismatches. If `faults` is not empty, the other attributes have no meaning.

    """

    columns: tuple[pa.Field, ...]
    defaults: tuple[tuple[str, object], ...]
    faults: tuple[str, ...]


def name_faults(columns: Sequence[pa.Field]) -> list[str]:
    """Return a fault for each column other than `key` and `value`, and a fault if `key` or `value` is missing."""
    names = [column.name for column in columns]
    faults = [f"column {name}{suggestion(name, SIDES)}" for name in names if name not in SIDES]
    missing = [name for name in SIDES if name not in names]
    return faults + [f"no column {name}; add it, with null for rows without a {name}" for name in missing]


def fit_pair(columns: Sequence[pa.Field], pair: KeyValuePair, *, where: str) -> PairColumns:
    """Compare the columns `key` and `value` with the formats of a pair. A mismatch in a struct contains its path."""
    faults = name_faults(columns)
    fitted: list[pa.Field] = []
    defaults: list[tuple[str, object]] = []
    for column in columns:
        if column.name not in SIDES:
            continue
        side = pair.key if column.name == KEY_COLUMN else pair.value
        if side.value_schema is None or not types.is_struct(column.type):
            faults += _scalar_faults(column, side)
            fitted.append(column)
            continue
        own, own_faults = _defaults(column, side, where)
        added = [side.value_schema.field(name) for name, _ in own]
        faults += own_faults
        faults += record_mismatches([*column.type, *added], side.value_schema, f"{column.name}.")
        fitted.append(column.with_type(pa.struct([*column.type, *added])))
        defaults += [(f"{column.name}.{name}", default) for name, default in own]
    return PairColumns(tuple(fitted), tuple(defaults), tuple(faults))


def _scalar_faults(column: pa.Field, side: PayloadSchema) -> list[str]:
    side_kind = side_type(side)
    fits = side.value_schema is None and scalar_fits(column.type, side_kind)
    return (
        []
        if fits
        else [f"column {column.name} of type {type_text(column.type)}; {cast_advice(column.type, side_kind)}"]
    )


def _defaults(
    column: pa.Field, side: PayloadSchema, where: str
) -> tuple[list[tuple[str, object]], list[str]]:
    if side.value_schema is None or side.definition is None or side.value_type not in _AVRO_DOCUMENTS:
        return [], []
    avro_defaults = field_defaults(side.definition, where=f"{where}, {column.name}")
    usable, faults = absent_defaults(column.type, side.value_schema, avro_defaults)
    return usable, [f"{column.name}.{fault}" for fault in faults]
