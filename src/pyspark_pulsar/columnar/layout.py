"""How the rows of a table are laid out in files: by which columns they are apart, and sorted. Picklable.

Partition fields are written as in Iceberg and Delta:

    day(__publishTime)    also hour, month and year; of a timestamp or date, in UTC
    item                  the values themselves
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pyspark_pulsar.columnar.storage import url_under
from pyspark_pulsar.errors import OptionError

PartitionKey = tuple[Any, ...]
"""A value for each partition field: whole numbers since 1970 for times, else the column's own, None for null."""

IDENTITY: Final = "__messageId"
PARTITION: Final = "__partition"
ORDER_KEY: Final = b"pulsar.order"
"""In a file's footer ..."""
BY_POSITION: Final = b"position"
"""... says that its rows are in the order of positions. Only our writer says so; engines that rewrite files do not."""
PAYLOAD_COLUMN: Final = "__payload"
"""The column of a table that keeps the payload of a message whose value columns do not tell all that it says, or that
did not decode. It is null for all others."""
IDENTITY_TRANSFORM: Final = "identity"
_UNITS: Final = ("hour", "day", "month", "year")
_FIELD: Final = re.compile(r"(?:(?P<transform>\w+)\((?P<source>.+)\))|(?P<column>[^()]+)")
FILE_BYTES: Final = 256 << 20
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_MOST_LETTERS: Final = 200
"""Of a folder's name."""
_EPOCH: Final = date(1970, 1, 1)
_HOUR_SECONDS: Final = 3600
_DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class PartitionField:
    """By what rows are apart: a column of the table at its top, and what is made of its values."""

    source: str
    transform: str = IDENTITY_TRANSFORM

    @classmethod
    def parse(cls, text: str) -> PartitionField:
        """Raises ValueError."""
        match = _FIELD.fullmatch(text.strip())
        if match is None or (match["transform"] and match["transform"].lower() not in _UNITS):
            raise ValueError(
                f"a column, or hour, day, month or year of one, such as day(__publishTime), got {text!r}"
            )
        if match["column"]:
            return cls(match["column"].strip())
        return cls(match["source"].strip(), match["transform"].lower())

    def __str__(self) -> str:
        return self.source if self.transform == IDENTITY_TRANSFORM else f"{self.transform}({self.source})"

    @property
    def name(self) -> str:
        """Of the field in the table's partition."""
        column = self.source.strip("_")
        return column if self.transform == IDENTITY_TRANSFORM else f"{column}_{self.transform}"

    @property
    def column(self) -> str:
        """Of the table's column that holds the field, in formats that have one."""
        return self.source if self.transform == IDENTITY_TRANSFORM else self.name

    def text(self, value: Any) -> str | None:
        """A value of the partition key as people read it and folders are called: `2026-01-31-08`, `2026-01-31`,
        `2026-01`, `2026`, as Iceberg writes them. None for null, and for years outside 1 to 9999."""
        if value is None:
            return None
        if self.transform == IDENTITY_TRANSFORM:
            return _plain(value)
        try:
            if self.transform == "hour":
                day, hour = divmod(value, 24)
                return f"{_EPOCH + timedelta(day)}-{hour:02}"
            if self.transform == "day":
                return str(_EPOCH + timedelta(value))
            year, month = divmod(value, 12) if self.transform == "month" else (value, 0)
            first = date(_EPOCH.year + year, month + 1, 1)
        except (ValueError, OverflowError):
            return None
        return f"{first.year:04}-{first.month:02}" if self.transform == "month" else str(first.year)

    def of(self, batch: pa.RecordBatch) -> pa.Array:
        """The value of each row."""
        values = batch.column(self.source)
        if self.transform == IDENTITY_TRANSFORM:
            return values
        if self.transform in ("year", "month"):
            years = pc.subtract(pc.year(values), 1970)
            if self.transform == "year":
                return pc.cast(years, pa.int32())
            return pc.cast(pc.add(pc.multiply(years, 12), pc.subtract(pc.month(values), 1)), pa.int32())
        step = _HOUR_SECONDS if self.transform == "hour" else _DAY_SECONDS
        seconds = pc.cast(pc.cast(values, pa.timestamp("us")), pa.int64())
        return pc.cast(pc.floor(pc.divide(pc.cast(seconds, pa.float64()), step * 1e6)), pa.int32())

    def check(self, columns: pa.Schema) -> None:
        """Raises `OptionError` for a column that is not there, or that rows cannot be apart by."""
        if self.source not in columns.names:
            raise OptionError(
                f"partition field {self}: expected a column of the table, got {self.source!r}; the columns are "
                f"{', '.join(columns.names)}"
            )
        kind = columns.field(self.source).type
        is_time = types.is_timestamp(kind) or types.is_date(kind)
        if self.transform != IDENTITY_TRANSFORM and (
            not is_time or (self.transform == "hour" and types.is_date(kind))
        ):
            raise OptionError(
                f"partition field {self}: expected a column with times, got {kind}; choose another"
            )
        if types.is_nested(kind) or types.is_floating(kind):
            raise OptionError(f"partition field {self}: expected a column with single values, got {kind}")


BY_DAY: Final = (PartitionField("__publishTime", "day"),)


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How data files of a table are written."""

    folder: str
    """The URL of the folder that they are put into."""
    schema: pa.Schema
    """The columns, with field ids where the format has them."""
    partition_fields: tuple[PartitionField, ...] = BY_DAY
    sort_columns: tuple[str, ...] = ()
    """Rows of a row group are in the order of these."""
    file_bytes: int = FILE_BYTES
    """About how large a file may get."""
    has_folders: bool = False
    """Whether files of each partition key lie in a folder of their own, such as `publishTime_day=2026-01-31`, named as
    by Hive: some engines take the values from there."""

    def folder_of(self, key: PartitionKey) -> str:
        """The URL of the folder for files of this key."""
        if not self.has_folders:
            return self.folder
        names = [
            f"{quote(field.column, safe='')}={_NULL if text is None else quote(text, safe='')}"
            for field, text in (
                (field, field.text(value)) for field, value in zip(self.partition_fields, key, strict=True)
            )
        ]
        # No file system takes longer names, and most engines read the values from the table's log.
        return url_under(self.folder, "/".join(name for name in names if len(name) <= _MOST_LETTERS))


def by_key(
    batch: pa.RecordBatch, fields: Sequence[PartitionField]
) -> Iterator[tuple[PartitionKey, pa.RecordBatch]]:
    """The rows of each partition key, in their order."""
    if not fields:
        yield (), batch
        return
    names = [str(number) for number in range(len(fields))]
    keys = pa.table([field.of(batch) for field in fields], names=names)
    distinct = keys.group_by(names).aggregate([]).to_pylist()
    if len(distinct) == 1:
        yield tuple(distinct[0].values()), batch
        return
    for key in distinct:
        masks = [_is(keys.column(name), value) for name, value in key.items()]
        yield tuple(key.values()), batch.filter(reduce(pc.and_, masks).combine_chunks())


def _is(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    return pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), fill_value=False)


def _plain(value: Any) -> str:
    """A column's own value, as the protocols of open tables write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
