"""Deadlines for requests to Iceberg's REST catalogs. Driver only.

pyiceberg's client for REST catalogs waits for an answer without a deadline, and has no setting for a deadline.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 60.0
"""The longest time without data from a catalog, in seconds. The limit is high because commits can be slow. A catalog
confirms a commit only after earlier commits, and after the catalog's own store has confirmed the commit.
"""


@contextmanager
def bounded_sessions() -> Iterator[None]:
    """Set deadlines for the sessions of catalogs that are opened in the `with` block.

    The sessions keep the deadlines after the block. The function changes pyiceberg's module during the block, so only
    one thread of a process is allowed in the block at a time.
    """
    from pyiceberg.catalog import rest
    from requests import Session

    module: Any = rest

    class BoundedSession(Session):
        """A session whose requests have a deadline."""

        def request(self, *arguments: Any, **named: Any) -> Any:
            named.setdefault("timeout", (CONNECT_SECONDS, ANSWER_SECONDS))
            return super().request(*arguments, **named)

    plain = module.Session
    module.Session = BoundedSession
    try:
        yield
    finally:
        module.Session = plain
