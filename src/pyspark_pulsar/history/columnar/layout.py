"""The layout of a table's rows in files: the partition fields and the sort columns. Picklable.

Partition fields are written as in Iceberg and Delta:

    day(__publishTime)    the day of a timestamp or date, in UTC; also hour, month and year
    item                  the value of the column
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field as attribute, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.history.columnar.calendar_units import units, whole_values
from pyspark_pulsar.history.columnar.storage import url_under

PartitionKey = tuple[Any, ...]
"""The values of a row's partition fields. A date or time is an integer, and null is None. Other values are unchanged.
"""

IDENTITY: Final = "__messageId"
PARTITION: Final = "__partition"
ORDER_KEY: Final = b"pulsar.order"
"""The key of the footer entry that records the order of a file's rows."""
BY_POSITION: Final = b"position"
"""The value of `ORDER_KEY` if the file's rows are in the order of positions.

Only this package writes the footer entry `ORDER_KEY`. Engines that rewrite files omit this entry.
"""
PAYLOAD_COLUMN: Final = "__payload"
"""The name of the table column for kept payloads.

The column contains the payload of each message whose complete payload the value columns do not determine. The column
also contains the payload of each message that could not be decoded. The column is null for all other messages.
"""
TIERED_BY: Final = "__tieredBy"
"""The name of the table column with the id of the schema with which a row was written (`tiered_schema`)."""
IDENTITY_TRANSFORM: Final = "identity"
_UNITS: Final = ("hour", "day", "month", "year")
_FIELD: Final = re.compile(r"(?:(?P<transform>\w+)\((?P<source>.+)\))|(?P<column>[^()]+)")
FILE_BYTES: Final = 256 << 20
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_FOLDER_NAME: Final = 200
"""The longest name of a folder, in characters."""
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A column, and the transform that computes a row's partition value from the column."""

    source: str
    transform: str = IDENTITY_TRANSFORM
    label: str | None = None
    """The name of the field in the table's partition; None if the field has its usual name.

    A field has another name only if a column of the table already has the usual name.
    """
    kind: pa.DataType | None = attribute(default=None, compare=False)
    """The type of the source column in the table; None if the type is unknown."""

    @classmethod
    def parse(cls, text: str) -> PartitionField:
        """Parse a partition field, such as `day(__publishTime)`.

        Raises:
            ValueError: The text is not a partition field.

        """
        match = _FIELD.fullmatch(text.strip())
        if match is None or (match["transform"] and match["transform"].lower() not in _UNITS):
            raise ValueError(
                f"a column, or hour, day, month or year of a column, such as day(__publishTime), got {text!r}"
            )
        if match["column"]:
            return cls(match["column"].strip())
        return cls(match["source"].strip(), match["transform"].lower())

    def __str__(self) -> str:
        return self.source if self.transform == IDENTITY_TRANSFORM else f"{self.transform}({self.source})"

    @property
    def name(self) -> str:
        """Return the name of the field in the table's partition."""
        column = self.source.strip("_")
        usual = column if self.transform == IDENTITY_TRANSFORM else f"{column}_{self.transform}"
        return self.label or usual

    @property
    def column(self) -> str:
        """Return the name of the table column with the field's values, for formats without transforms (Delta)."""
        return self.source if self.transform == IDENTITY_TRANSFORM else self.name

    def text(self, value: Any) -> str | None:
        """Return the text of a partition value, for messages and names of folders.

        Hours, days, months and years are written as in Iceberg: `2026-01-31-08`, `2026-01-31`, `2026-01`, `2026`.

        Returns:
            The text. The result is None if the value is null, or is an hour, day or month outside the years 1 to 9999.

        """
        if value is None:
            return None
        if self.transform == IDENTITY_TRANSFORM and (self.kind is None or not types.is_date(self.kind)):
            return _plain(value)
        if self.transform == "year":
            return str(_EPOCH.year + value)
        try:
            if self.transform == "hour":
                day, hour = divmod(value, 24)
                return f"{_EPOCH + timedelta(day)}-{hour:02}"
            if self.transform == "month":
                year, month = divmod(value, 12)
                return str(date(_EPOCH.year + year, month + 1, 1))[:-3]
            return str(_EPOCH + timedelta(value))
        except (ValueError, OverflowError):
            return None

    def key_values(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the partition value of each row. Dates and times become integers (`calendar_units.units`).

        If the batch lacks the source column, because the topic no longer has the column, all values are null.
        """
        if self.source not in batch.schema.names:
            return pa.nulls(batch.num_rows, pa.int32())
        values = batch.column(self.source)
        return whole_values(values) if self.transform == IDENTITY_TRANSFORM else units(values, self.transform)

    def check(self, columns: pa.Schema) -> None:
        """Raise `OptionError` if the source column does not exist, or if its type cannot be used for partitions."""
        if self.source not in columns.names:
            raise OptionError(
                f"partition field {self}: expected a column of the table, got {self.source!r}; choose one of "
                f"{', '.join(columns.names)}"
            )
        kind = columns.field(self.source).type
        is_time = types.is_timestamp(kind) or types.is_date(kind)
        if self.transform != IDENTITY_TRANSFORM and (
            not is_time or (self.transform == "hour" and types.is_date(kind))
        ):
            raise OptionError(
                f"partition field {self}: expected a column of dates or timestamps, got {kind}; choose another column"
            )
        if types.is_nested(kind) or types.is_floating(kind):
            raise OptionError(
                f"partition field {self}: expected a column without nested or floating-point values, got {kind}; "
                f"choose another column"
            )


def named_fields(fields: Sequence[PartitionField], columns: pa.Schema) -> tuple[PartitionField, ...]:
    """Return the fields with distinct names. No column or other field has the same name, even if case is ignored.

    Raises:
        OptionError: Two of the fields are the same.

    """
    twice = next((field for number, field in enumerate(fields) if field in fields[:number]), None)
    if twice is not None:
        raise OptionError(
            f"partition field {twice}: expected each field once, got this field twice; remove one of the two"
        )
    taken = {name.lower(): name for name in columns.names}
    named = []
    for field in fields:
        usual, number, name = field.name, 1, field.name
        is_own = field.transform == IDENTITY_TRANSFORM and usual == field.source
        while name.lower() in taken and not is_own:
            number += 1
            name = f"{usual}_{number}"
        taken[name.lower()] = name
        named.append(field if name == usual else replace(field, label=name))
    return tuple(named)


def check_sort_columns(names: Sequence[str], columns: pa.Schema) -> None:
    """Raise `OptionError` if a sort column is not in `columns`, or if a sort column contains nested values."""
    for name in names:
        kind = columns.field(name).type if name in columns.names else None
        if kind is None or types.is_nested(kind):
            raise OptionError(
                f"sort column {name!r}: expected a column of the table without nested values, got "
                f"{'no column of that name' if kind is None else kind}; choose another column"
            )


BY_DAY: Final = (PartitionField("__publishTime", "day"),)


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The rules by which the data files of a table are written."""

    folder: str
    """The URL of the folder for the data files."""
    schema: pa.Schema
    """The columns of the files. The columns have field ids if the table's format uses field ids."""
    partition_fields: tuple[PartitionField, ...] = BY_DAY
    sort_columns: tuple[str, ...] = ()
    """The columns by which the rows of a row group are sorted."""
    tiered_by: int | None = None
    """The value of column `TIERED_BY` in all rows: the id of the rows' schema. None means that the rows already contain
    the column.
    """
    file_bytes: int = FILE_BYTES
    """The approximate largest size of a file."""
    has_folders: bool = False
    """True if each partition key has a separate folder, with a name in Hive's form: `publishTime_day=2026-01-31`.

    Some engines read the partition values from the names of the folders.
    """

    def folder_of(self, key: PartitionKey) -> str:
        """Return the URL of the folder for files of a partition key."""
        if not self.has_folders:
            return self.folder
        names = [
            f"{quote(field.column, safe='')}={_NULL if text is None else quote(text, safe='')}"
            for field, text in (
                (field, field.text(value)) for field, value in zip(self.partition_fields, key, strict=True)
            )
        ]
        # File systems reject longer names, so such a name is omitted from the path. Most engines do not need the name,
        # because these engines read the partition values from the table's log.
        name = "/".join(name for name in names if len(name) <= _LONGEST_FOLDER_NAME)
        return url_under(self.folder, name) if name else self.folder


def by_key(
    batch: pa.RecordBatch, fields: Sequence[PartitionField]
) -> Iterator[tuple[PartitionKey, pa.RecordBatch]]:
    """Yield each partition key of a batch with the rows that have the key, in the order of the batch."""
    if not fields:
        yield (), batch
        return
    names = [str(number) for number in range(len(fields))]
    keys = pa.table([field.key_values(batch) for field in fields], names=names)
    distinct = keys.group_by(names).aggregate([]).to_pylist()
    if len(distinct) == 1:
        yield tuple(distinct[0].values()), batch
        return
    for key in distinct:
        masks = [_equals(keys.column(name), value) for name, value in key.items()]
        yield tuple(key.values()), batch.filter(reduce(pc.and_, masks).combine_chunks())


def _equals(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    return pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), fill_value=False)


def _plain(value: Any) -> str:
    """Return the text of a column's value, in the form that the specifications of Iceberg and Delta define."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
