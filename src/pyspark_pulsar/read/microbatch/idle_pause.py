"""How often a query without news asks brokers: less and less, down to once a second. Driver only.

With Spark's default trigger a query asks again at once, a hundred times a second. Over thousands of topics that alone
keeps brokers busy. So `latestOffset` waits before it asks, a tenth of the time that there was no news, at most a
second. It never answers from memory: `processAllAvailable` counts on what it says.

A query of several sources that has a micro-batch is not idle, even if this source has nothing for it: Spark commits
each source's offset then (`news`). So a quiet source does not hold up a busy one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

MOST_SECONDS: Final = 1.0
_SHARE: Final = 0.1


class IdlePause:
    """Used by one thread."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._asked: float | None = None
        self._last_news = clock()

    def before_asking(self) -> None:
        """Waits, at most `MOST_SECONDS`, until brokers may be asked again."""
        if self._asked is not None:
            pause = min(MOST_SECONDS, _SHARE * (self._asked - self._last_news))
            wait = self._asked + pause - self._clock()
            if wait > 0:
                self._sleep(wait)
        self._asked = self._clock()

    def news(self) -> None:
        """There is something to read, or the query had a micro-batch."""
        self._last_news = self._clock()
