"""What a read decodes from and to: a registry schema and the wanted columns, resolved once on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema, columns_of, for_reading, payload_schema
from pyspark_pulsar.schema.protobuf_descriptor import DescriptorFile
from pyspark_pulsar.schema.spark_types import readable

ALL_VALUE_COLUMNS: Final = "*"


@dataclass(frozen=True)
class ReadSchema:
    """Everything a decoder must know about the value; picklable, made on the driver for the executors.

    `output_schema` holds the value columns and then the metadata columns, in Spark's types, all nullable.
    Messages of other registry versions are resolved to the document of `value`.
    """

    value: PayloadSchema
    output_schema: pa.Schema


def resolve_read_schema(
    info: SchemaInfo | None,
    *,
    topic: str,
    columns: Sequence[str] | None = None,
    descriptor: DescriptorFile | None = None,
) -> ReadSchema:
    """The schema that reading `topic` yields; `info` None is a topic without schema, read as bytes.

    `columns` None means all value columns and the default metadata columns. Otherwise exactly the named
    ones come out: value columns in the order given ("*" stands for all), then metadata columns in the
    order given. `descriptor` says what the Protobuf messages are, of a topic whose schema does not, or less
    well. Raises SchemaError for an unsupported schema, an unknown or repeated column, and a value
    field that bears the name of a metadata column.
    """
    schema = info or SchemaInfo("", SchemaType.NONE)
    value = for_reading(payload_schema(schema, topic=topic, descriptor=descriptor))
    fields = columns_of(value)
    _refuse_collisions(fields, topic)
    output = _select({field.name: readable(field) for field in fields}, columns, topic)
    return ReadSchema(value, output)


def _refuse_collisions(fields: pa.Schema, topic: str) -> None:
    taken = [name for name in fields.names if name in metadata_columns.FIELDS]
    if taken:
        raise SchemaError(
            f"topic {topic}: expected value fields with other names than the metadata columns, got "
            f"{', '.join(taken)}; rename the field in the topic's schema"
        )


def _select(values: dict[str, pa.Field], columns: Sequence[str] | None, topic: str) -> pa.Schema:
    if columns is None:
        return pa.schema([*values.values(), *metadata_columns.DEFAULT_FIELDS])
    if not columns:
        raise SchemaError(
            f"topic {topic}: expected at least one column, got an empty list; name one or leave it out"
        )
    wanted: list[str] = []
    for name in columns:
        wanted.extend(values if name == ALL_VALUE_COLUMNS else [name])
    known = values | metadata_columns.FIELDS
    for name in wanted:
        if name not in known:
            raise SchemaError(
                f"topic {topic}: expected columns among {', '.join(known)}, got "
                f"{name}{suggestion(name, known)}"
            )
    repeated = sorted({name for name in wanted if wanted.count(name) > 1})
    if repeated:
        raise SchemaError(
            f"topic {topic}: expected each column once, got {', '.join(repeated)} again; name it once"
        )
    chosen_values = [values[name] for name in wanted if name in values]
    chosen_metadata = [metadata_columns.FIELDS[name] for name in wanted if name not in values]
    return pa.schema(chosen_values + chosen_metadata)


def suggestion(name: str, known: Sequence[str] | dict[str, pa.Field]) -> str:
    """What to do about an unknown column name, to end an error message with."""
    folded = {each.casefold(): each for each in known}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[close[0]]}?" if close else "; check the name"
