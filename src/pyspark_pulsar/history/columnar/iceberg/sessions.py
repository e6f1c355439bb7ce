"""Deadlines for requests to Iceberg's REST catalogs. Driver only.

pyiceberg's client for REST catalogs waits for an answer without end, and has no setting for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 60.0
"""How long a catalog may send nothing. A commit waits for other commits and for the catalog's own store."""


@contextmanager
def bounded_sessions() -> Iterator[None]:
    """Give deadlines to the sessions of catalogs that are opened in the block, for as long as the sessions live.

    Changes pyiceberg's module for the block, so one thread of a process may be in it.
    """
    from pyiceberg.catalog import rest
    from requests import Session

    module: Any = rest

    class BoundedSession(Session):
        """A session whose requests end."""

        def request(self, *arguments: Any, **named: Any) -> Any:
            named.setdefault("timeout", (CONNECT_SECONDS, ANSWER_SECONDS))
            return super().request(*arguments, **named)

    plain = module.Session
    module.Session = BoundedSession
    try:
        yield
    finally:
        module.Session = plain
