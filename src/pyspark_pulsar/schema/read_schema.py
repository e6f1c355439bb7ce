"""What a read decodes from and to: a registry schema and the wanted columns, resolved once on the driver."""

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
    """Everything a decoder must know about the value; picklable, made on the driver for the executors.

    `output_schema` is what comes out, in Spark's types, all nullable; `value_columns` are all columns that the
    value has, whether they come out or not. Messages of other registry versions are resolved to the document
    of `value`, whose fields are nullable throughout for JSON. `info` is the registry's schema that all this was
    made from, None for topics without one. `corrupt_column` is the name of the column that holds the payloads
    of messages that do not decode, None where a value field has that name. `own_schemas` is a digest of the
    schemas that the topics have each for itself, where the read may have several topics; empty where it is of one.
    `payload_column` is the name of an output column that keeps the payload of each message whose value columns do not
    tell all that it says to a later reader, as of each that does not decode; None where none are kept. With
    `keeps_all_payloads` it keeps those of all messages.
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
    """Which columns a read yields, and what the one for messages that do not decode is called.

    `names` None means all value columns, with `shows_bad_rows` the corrupt-record column, the default metadata
    columns, and those in `further`. Otherwise exactly the named ones, in that order; "*" stands for all value
    columns.
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
    """The schema that reading `topic` yields; `info` None is a topic without schema, read as bytes.

    `columns` as in `ColumnChoice`, of which plain names are short. `descriptor` says what the Protobuf messages
    are, of a topic whose schema does not, or less well. `payload` is how values lie in bytes where `info` does not say
    it: in topics whose schemas differ (`topic_family`), where `unfolding` was applied already. Raises SchemaError for
    an unsupported schema, an unknown or repeated column, a field that no column holds, and a value field that bears
    the name of a metadata column or of the corrupt-record column that is to be shown.
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
    """Every column that a read can yield, by name, in Spark's types."""
    columns = {field.name: field for field in values}
    if corrupt_column is not None:
        columns[corrupt_column] = pa.field(corrupt_column, pa.binary())
    return columns | metadata_columns.FIELDS


def check_output(output: pa.Schema, values: pa.Schema, corrupt_column: str | None, topic: str) -> None:
    """Raises SchemaError for a corrupt-record column beside which no value is decoded: it would stay empty."""
    if corrupt_column in output.names and not set(output.names) & set(values.names):
        raise SchemaError(
            f"topic {topic}: expected a value column beside {corrupt_column}, got none; what is not asked for is not "
            f"decoded, so no message would be found bad: name a value column ({', '.join(values.names)})"
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
            f"topic {topic}: expected a name for the column of messages that do not decode that no other column "
            f"has, got {choice.corrupt_column}; choose one by option 'columnNameOfCorruptRecord'"
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
                raise SchemaError(f"topic {topic}: no column holds {omission.text()}")
            raise SchemaError(
                f"topic {topic} has no column {name}{suggestion(name, known)}; it has {', '.join(known)}"
            )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated or not names:
        raise SchemaError(
            f"topic {topic}: expected columns, each once, got "
            f"{', '.join(repeated) + ' again' if repeated else 'none'}; change option 'columns'"
        )
    output = pa.schema([known[name] for name in names])
    check_output(output, values, corrupt, topic)
    return output


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown column name, to end an error message with."""
    folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[close[0]]}?" if close else "; check the name"
