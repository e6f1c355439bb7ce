"""The outcome of matching the fields of two schemas, and columns whose names in files differ from a reader's. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

STORED_NAME: Final = b"pulsar.stored-name"
"""The key in a field's metadata for the field's name in files. Only fields with another name in files have this key."""


@dataclass
class Found:
    """The outcome of matching two schemas. The matching functions update this object."""

    is_plain: bool = True
    """True if each field of the reader either is a column of the table, or is absent in the rows' schema."""
    unclear: dict[str, str] = field(default_factory=dict)
    """A reason for each column of the reader that the table's columns do not determine, by column name."""
    _column: str | None = None
    _parent: Found | None = None

    def below(self, column: str) -> Found:
        """Return an outcome for one column of the reader.

        Each result in the returned outcome is also recorded in this outcome.
        """
        return self if self._column is not None else Found(_column=column, _parent=self)

    def decode(self) -> None:
        """Record that the rows must be decoded with the reader's schema."""
        self.is_plain = False
        if self._parent is not None:
            self._parent.decode()

    def give_up(self, reason: str) -> None:
        """Record that the stored columns do not determine the values of the reader's column, for the given reason."""
        self.decode()
        owner = self._parent or self
        owner.unclear.setdefault(self._column or "", reason)


def stored_name(column: pa.Field) -> str:
    """Return the name of a column in files."""
    name = (column.metadata or {}).get(STORED_NAME)
    return str(column.name) if name is None else str(name.decode())


def rename_column(column: pa.Field, name: str, kind: pa.DataType) -> pa.Field:
    """Rename a stored column to a reader's name. `kind` is the column's type with the reader's member names."""
    metadata = dict(column.metadata or {})
    if name != column.name:
        metadata.setdefault(STORED_NAME, column.name.encode())
    return pa.field(name, kind, column.nullable, metadata or None)


def by_name(columns: Iterable[pa.Field]) -> dict[str, pa.Field]:
    """Return a mapping from the names of the columns to the columns."""
    return {column.name: column for column in columns}
