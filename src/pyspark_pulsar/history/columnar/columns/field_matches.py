"""The outcome of matching the fields of two schemas, and columns that have another name in files. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

STORED_NAME: Final = b"pulsar.stored-name"
"""The metadata of a field that has another name in files: that name."""


@dataclass
class Found:
    """The outcome of matching, as far as it is known. Filled by the functions that match."""

    is_plain: bool = True
    """True if each field of the reader is a column, or absent."""
    unclear: dict[str, str] = field(default_factory=dict)
    """For each column of the reader that the table's columns do not tell, the reason."""
    _column: str | None = None
    _parent: Found | None = None

    def below(self, column: str) -> Found:
        """Return the outcome for one column of the reader, which is a part of this one."""
        return self if self._column is not None else Found(_column=column, _parent=self)

    def decode(self) -> None:
        """Note that the rows must be decoded by the reader's schema."""
        self.is_plain = False
        if self._parent is not None:
            self._parent.decode()

    def give_up(self, reason: str) -> None:
        """Note that the columns do not tell what the reader would see in this column."""
        self.decode()
        owner = self._parent or self
        owner.unclear.setdefault(self._column or "", reason)


def stored_name(column: pa.Field) -> str:
    """Return the name that a column has in files."""
    told = (column.metadata or {}).get(STORED_NAME)
    return str(column.name) if told is None else str(told.decode())


def renamed(column: pa.Field, name: str, kind: pa.DataType) -> pa.Field:
    """Return a stored column under a reader's name, with the type `kind`, whose members have the reader's names too."""
    metadata = dict(column.metadata or {})
    if name != column.name:
        metadata.setdefault(STORED_NAME, column.name.encode())
    return pa.field(name, kind, column.nullable, metadata or None)


def by_name(columns: Iterable[pa.Field]) -> dict[str, pa.Field]:
    """Return the columns by their names."""
    return {column.name: column for column in columns}
