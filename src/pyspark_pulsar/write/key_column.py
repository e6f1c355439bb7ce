"""The option `keyColumn`: the values of one value column are also the keys of the messages.

The encoder receives the keys in an additional column `__key`.
"""

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
    """Return the columns of a DataFrame. If `key_column` is set, add the last column `__key`. Runs on the driver only.

    Raises:
        OptionError: The column does not exist, or is not a value column, or the DataFrame already has a column `__key`.
        SchemaError: Values of the column's type cannot be keys, or two columns have the name `key_column`.

    """
    if key_column is None:
        return columns
    values = [name for name in columns.names if not name.startswith(_METADATA)]
    if KEY in columns.names:
        raise OptionError(
            f"option 'keyColumn' is {key_column!r}, and the DataFrame has a column {KEY}, which is also the message's "
            f"key: expected only one of the two; drop the column, or remove the option"
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
            f"date or a whole number. Values of other types have no text that all systems agree on; add a column {KEY} "
            f"with your text instead of the option"
        )
    return columns.append(pa.field(KEY, pa.binary()))


def refuse_separated(info: SchemaInfo | None, key_column: str | None, topic: str) -> None:
    """Check that the topic's schema does not itself use the message's key.

    Raises:
        OptionError: The schema is a KEY_VALUE schema with separated keys.

    """
    if key_column is None or info is None or info.type is not SchemaType.KEY_VALUE:
        return
    if split(info, topic=topic).separated:
        raise OptionError(
            f"option 'keyColumn': expected a topic whose schema does not use the message's key, got {topic}. In its "
            f"KEY_VALUE schema of separated keys, column key is the message's key; remove the option"
        )


def keyed(batches: Iterator[pa.RecordBatch], key_column: str | None) -> Iterator[pa.RecordBatch]:
    """Yield the batches. If `key_column` is set, add `__key` as the last column. Runs on executors only."""
    if key_column is None:
        yield from batches
        return
    field = pa.field(KEY, pa.binary())
    for batch in batches:
        yield batch.append_column(field, key_bytes(batch.column(key_column)))


def key_bytes(column: pa.Array) -> pa.Array:
    """Return the keys for the values of a column.

    A binary value is the key itself. Any other value is converted to text, as Spark's `CAST AS STRING` does, and the
    key is the text in UTF-8. The key of a null is null.
    """
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
