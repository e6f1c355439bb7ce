"""Faults of pyiceberg, of what it speaks to, and of stores, in words of our own. Driver only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from pyspark_pulsar.errors import (
    ColumnsUnavailable,
)
from pyspark_pulsar.history.columnar.redaction import redacted

if TYPE_CHECKING:
    pass


@contextmanager
def told(what: str, secrets: tuple[str, ...]) -> Iterator[None]:
    """Faults of catalog and storage in words of our own, without secrets. Raises `ColumnsUnavailable`."""
    import requests
    from pyiceberg.exceptions import RESTError, ServerError, ServiceUnavailableError, UnauthorizedError

    faults: tuple[type[Exception], ...] = (
        OSError,
        requests.RequestException,
        RESTError,
        ServerError,
        ServiceUnavailableError,
        UnauthorizedError,
        pa.ArrowException,
        *_database_errors(),
    )
    try:
        yield
    except faults as fault:
        raise ColumnsUnavailable(
            f"{what}: expected to reach its catalog and files, got {type(fault).__name__}: "
            f"{redacted(str(fault).splitlines()[0] if str(fault) else 'no reason given', secrets)}"
        ) from None


def _database_errors() -> tuple[type[Exception], ...]:
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        return ()
    return (SQLAlchemyError,)
