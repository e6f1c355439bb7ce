"""Conversion of errors of pyiceberg, of catalogs and of stores to `ColumnsUnavailable`. Driver only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from pyspark_pulsar.errors import (
    ColumnsUnavailable,
)
from pyspark_pulsar.history.columnar.redaction import redact

if TYPE_CHECKING:
    pass


@contextmanager
def translated_faults(what: str, secrets: tuple[str, ...]) -> Iterator[None]:
    """Convert errors of the catalog and the storage to `ColumnsUnavailable`, without secrets in the text.

    Args:
        what: The name of the table or catalog, for the text of the error.
        secrets: The texts to remove from the error.

    """
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
            f"{what}: expected to reach the catalog and the files, got {type(fault).__name__}: "
            f"{redact(str(fault).splitlines()[0] if str(fault) else 'no reason given', secrets)}; check the catalog, "
            f"the storage and the settings of tierCatalog"
        ) from None


def _database_errors() -> tuple[type[Exception], ...]:
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        return ()
    return (SQLAlchemyError,)
