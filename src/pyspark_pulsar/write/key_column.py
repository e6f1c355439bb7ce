"""Option `keyColumn`: a value column that is also the message's key, given to the encoder as column `__key`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pyspark_pulsar.errors import OptionError, SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.read_schema import suggestion
from pyspark_pulsar.schema.types.type_text import type_text

KEY: Final = "__key"
_METADATA: Final = "__"
_LAST_PLAIN_DAY: Final = pa.scalar(dt.date(9999, 12, 31))


def keyed_columns(columns: pa.Schema, key_column: str | None) -> pa.Schema:
    """`columns` of a DataFrame, and with `key_column` a column `__key` behind them. Driver only.

    Raises `OptionError` for a column that is not there or is no value, or beside a column `__key`; `SchemaError` for a
    type that makes no key, and for two columns of that name.
    """
    if key_column is None:
        return columns
    values = [name for name in columns.names if not name.startswith(_METADATA)]
    if KEY in columns.names:
        raise OptionError(
            f"option 'keyColumn' is {key_column!r}, and there is a column {KEY}, which is the message's key itself: "
            f"expected one of both; drop the column, or leave the option out"
        )
    if key_column not in values:
        raise OptionError(
            f"option 'keyColumn' is {key_column!r}: expected one of the value columns {', '.join(values)}"
            + suggestion(key_column, values)
        )
    if values.count(key_column) > 1:
        raise SchemaError(
            f"option 'keyColumn': expected one column {key_column}, got {values.count(key_column)}; rename the others"
        )
    kind = columns.field(columns.names.index(key_column)).type
    if not _makes_a_key(kind):
        raise SchemaError(
            f"option 'keyColumn' is {key_column!r}, a column of {type_text(kind)}: expected string, binary, boolean, "
            f"date or a whole number, as values of other types have no text that all would agree on; "
            f"add a column {KEY} "
            f"with the text that you want instead of the option"
        )
    return columns.append(pa.field(KEY, pa.binary()))


def refuse_separated(info: SchemaInfo | None, key_column: str | None, topic: str) -> None:
    """Raises `OptionError` where the topic's schema keeps a key of its own apart from the value."""
    if key_column is None or info is None or info.type is not SchemaType.KEY_VALUE:
        return
    if split(info, topic=topic).separated:
        raise OptionError(
            f"option 'keyColumn': expected a topic whose schema leaves the message's key free, got {topic} with a "
            f"KEY_VALUE schema of separated keys, where column key is the key; leave the option out"
        )


def keyed(batches: Iterator[pa.RecordBatch], key_column: str | None) -> Iterator[pa.RecordBatch]:
    """The rows with the column that `keyed_columns` adds. Executor only."""
    if key_column is None:
        yield from batches
        return
    field = pa.field(KEY, pa.binary())
    for batch in batches:
        yield batch.append_column(field, key_bytes(batch.column(key_column)))


def key_bytes(column: pa.Array) -> pa.Array:
    """Binary as it is, all else as the UTF-8 of the text that Spark's CAST AS STRING gives; null where it is null."""
    if types.is_binary(column.type) or types.is_large_binary(column.type):
        return column.cast(pa.binary())
    text = column.cast(pa.string())
    if types.is_date32(column.type):
        signed = pc.binary_join_element_wise("+", text, "")
        text = pc.if_else(pc.greater(column, _LAST_PLAIN_DAY), signed, text)
    return text.cast(pa.binary())


def _makes_a_key(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string, types.is_large_string, types.is_binary, types.is_large_binary,
            types.is_boolean, types.is_integer, types.is_date32,
        )
    )  # fmt: skip
