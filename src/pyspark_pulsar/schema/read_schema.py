"""The schema of a read, which the driver derives from a registry schema and the requested columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import pyarrow as pa

from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import PayloadSchema, columns_of, for_reading, payload_schema
from pyspark_pulsar.schema.protobuf.descriptor import DescriptorFile
from pyspark_pulsar.schema.types.exchange import readable
from pyspark_pulsar.schema.unfolding import UNFOLDED_ONCE, Omission, Unfolding, omission_of

ALL_VALUE_COLUMNS: Final = "*"
DEFAULT_CORRUPT_COLUMN: Final = "_corrupt_record"


@dataclass(frozen=True)
class ReadSchema:
    """The value format and the columns of a read. The driver sends instances to executors, so instances can be pickled.

    Attributes:
        value: The format of the value, to which the decoder resolves messages of other schema versions. For JSON, all
            fields of the format are nullable.
        output_schema: The columns that the read returns, in Spark's types, all nullable.
        value_columns: All columns of the value, including columns that the read does not return.
        info: The registry schema from which this schema was made; None if the topic has no schema.
        corrupt_column: The name of the column for the payloads of messages that cannot be decoded; None if a value
            field has this name.
        own_schemas: In a read of several topics, a digest of all topics and their schemas; empty for a single topic.
        payload_column: The name of an output column for original payloads; None if the read returns no payloads. The
            column contains the payloads of messages that cannot be decoded, and of messages that cannot be restored
            from the other columns.
        keeps_all_payloads: Whether `payload_column` contains the payloads of all messages.

    """

    value: PayloadSchema
    output_schema: pa.Schema
    value_columns: pa.Schema
    info: SchemaInfo | None = None
    corrupt_column: str | None = None
    own_schemas: str = ""
    payload_column: str | None = None
    keeps_all_payloads: bool = False


@dataclass(frozen=True)
class ColumnChoice:
    """The columns that a query requests, and the name of the corrupt-record column.

    Attributes:
        names: The columns in the order of the result; "*" means all value columns. None means all value columns, the
            corrupt-record column if `shows_bad_rows`, the default metadata columns, and the columns in `further`.
        further: Additional metadata columns, which the result includes only if `names` is None.
        corrupt_column: The name of the column for the payloads of messages that cannot be decoded.
        shows_bad_rows: Whether the result includes the corrupt-record column without `names`. If true, a value field
            with the name of that column is an error.

    """

    names: Sequence[str] | None = None
    further: tuple[str, ...] = ()
    corrupt_column: str = DEFAULT_CORRUPT_COLUMN
    shows_bad_rows: bool = False


def resolve_read_schema(
    info: SchemaInfo | None,
    *,
    topic: str,
    columns: ColumnChoice | Sequence[str] | None = None,
    descriptor: DescriptorFile | None = None,
    payload: PayloadSchema | None = None,
    unfolding: Unfolding = UNFOLDED_ONCE,
) -> ReadSchema:
    """Return the schema for a read of one topic, or of several topics that are read as one table.

    Args:
        info: The registry schema. None if the topic has no schema; the value is then read as bytes.
        topic: The topic, for errors.
        columns: The requested columns, or only their names.
        descriptor: The user's Protobuf message, for a topic whose schema does not describe the messages.
        payload: For topics with different schemas, the common format of the values, from `topic_family` with the same
            `unfolding`; otherwise None.
        unfolding: How types that contain themselves become columns.

    Raises:
        SchemaError: If the schema is not supported. If a requested column is unknown, repeated, or a field that no
            column can contain. If a field has the name of a metadata column, or of the corrupt-record column in the
            result.

    """
    choice = columns if isinstance(columns, ColumnChoice) else ColumnChoice(columns)
    schema = info or SchemaInfo("", SchemaType.NONE)
    value = for_reading(
        payload or payload_schema(schema, topic=topic, descriptor=descriptor, unfolding=unfolding)
    )
    fields = columns_of(value)
    _refuse_collisions(fields, choice, topic)
    values = pa.schema([readable(field) for field in fields])
    corrupt = None if choice.corrupt_column in fields.names else choice.corrupt_column
    output = _select(values, corrupt, choice, topic, value.omitted)
    return ReadSchema(value, output, values, info, corrupt)


def known_columns(values: pa.Schema, corrupt_column: str | None) -> dict[str, pa.Field]:
    """Return every column that a read can return, by name, in Spark's types."""
    columns = {field.name: field for field in values}
    if corrupt_column is not None:
        columns[corrupt_column] = pa.field(corrupt_column, pa.binary())
    return columns | metadata_columns.FIELDS


def check_output(output: pa.Schema, values: pa.Schema, corrupt_column: str | None, topic: str) -> None:
    """Raise SchemaError if the output has the corrupt-record column but no value column.

    A read without value columns decodes no values, so the read would find no bad rows.
    """
    if corrupt_column in output.names and not set(output.names) & set(values.names):
        raise SchemaError(
            f"topic {topic}: expected a value column beside {corrupt_column}, got none, so the read would find no bad "
            f"rows; add a value column ({', '.join(values.names)})"
        )


def _refuse_collisions(fields: pa.Schema, choice: ColumnChoice, topic: str) -> None:
    taken = [name for name in fields.names if name in metadata_columns.FIELDS]
    if taken:
        raise SchemaError(
            f"topic {topic}: expected value fields with other names than the metadata columns, got "
            f"{', '.join(taken)}; rename the field in the topic's schema"
        )
    reserved = [*metadata_columns.FIELDS, *(fields.names if choice.shows_bad_rows else ())]
    if choice.corrupt_column in reserved:
        raise SchemaError(
            f"topic {topic}: expected a name for the corrupt-record column that no other column has, "
            f"got {choice.corrupt_column}; set option 'columnNameOfCorruptRecord' to another name"
        )


def _select(
    values: pa.Schema, corrupt: str | None, choice: ColumnChoice, topic: str, omitted: Iterable[Omission]
) -> pa.Schema:
    known = known_columns(values, corrupt)
    if choice.names is None:
        shown = [known[corrupt]] if choice.shows_bad_rows and corrupt is not None else []
        further = [metadata_columns.FIELDS[name] for name in choice.further]
        return pa.schema([*values, *shown, *metadata_columns.DEFAULT_FIELDS, *further])
    names: list[str] = []
    for name in choice.names:
        names.extend(values.names if name == ALL_VALUE_COLUMNS else [name])
    for name in names:
        if name not in known:
            omission = omission_of(name, omitted)
            if omission is not None:
                raise SchemaError(
                    f"topic {topic}: no column can contain {omission.text()}; request other columns"
                )
            raise SchemaError(
                f"topic {topic}: expected columns from {', '.join(known)}, got {name}{suggestion(name, known)}"
            )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated or not names:
        raise SchemaError(
            f"topic {topic}: expected one or more columns without duplicates, got "
            f"{', '.join(repeated) + ' more than once' if repeated else 'none'}; change option 'columns'"
        )
    output = pa.schema([known[name] for name in names])
    check_output(output, values, corrupt, topic)
    return output


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the remedy for an error about an unknown column name."""
    folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[close[0]]}?" if close else "; check the name"
