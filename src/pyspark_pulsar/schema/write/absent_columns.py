"""Avro defaults of a topic's record fields, which a write stores if the DataFrame has no column for the field."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyspark_pulsar.schema.avro.defaults import default_scalar
from pyspark_pulsar.schema.types.type_text import type_text


def absent_defaults(
    values: Iterable[pa.Field], fields: pa.Schema, defaults: dict[str, object]
) -> tuple[list[tuple[str, object]], list[str]]:
    """Return the defaults of fields without a column, as Python values, and faults for defaults that cannot be written.

    The result does not contain fields whose default is null.
    """
    present = {column.name for column in values}
    usable: list[tuple[str, object]] = []
    faults: list[str] = []
    for field in fields:
        default = defaults.get(field.name)
        if field.name in present or default is None:
            continue
        try:
            usable.append((field.name, default_scalar(default, field.type)))
        except ValueError:
            faults.append(
                f"{field.name} ({type_text(field.type)}) is missing and its default cannot be written; add it"
            )
    return usable, faults
