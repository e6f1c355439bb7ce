"""The outcome of matching the fields of two schemas, and columns with another name in files. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

STORED_NAME: Final = b"pulsar.stored-name"
"""The key of a field's metadata that contains the field's name in files, if the name differs."""


@dataclass
class Found:
    """The outcome of matching, as far as it is known. The matching functions modify it."""

    is_plain: bool = True
    """True if each field of the reader is a column, or absent."""
    unclear: dict[str, str] = field(default_factory=dict)
    """The reader's columns that the table's columns do not determine, with the reason for each."""
    _column: str | None = None
    _parent: Found | None = None

    def below(self, column: str) -> Found:
        """Return the outcome for one column of the reader, as a part of this outcome."""
        return self if self._column is not None else Found(_column=column, _parent=self)

    def decode(self) -> None:
        """Record that the rows must be decoded by the reader's schema."""
        self.is_plain = False
        if self._parent is not None:
            self._parent.decode()

    def give_up(self, reason: str) -> None:
        """Record that the stored columns do not determine the reader's values of this column."""
        self.decode()
        owner = self._parent or self
        owner.unclear.setdefault(self._column or "", reason)


def stored_name(column: pa.Field) -> str:
    """Return the name of a column in files."""
    name = (column.metadata or {}).get(STORED_NAME)
    return str(column.name) if name is None else str(name.decode())


def rename_column(column: pa.Field, name: str, kind: pa.DataType) -> pa.Field:
    """Return a stored column under a reader's name, with a type whose members also have the reader's names."""
    metadata = dict(column.metadata or {})
    if name != column.name:
        metadata.setdefault(STORED_NAME, column.name.encode())
    return pa.field(name, kind, column.nullable, metadata or None)


def by_name(columns: Iterable[pa.Field]) -> dict[str, pa.Field]:
    """Return the columns by their names."""
    return {column.name: column for column in columns}
