"""The pauses of an idle query, which sends fewer requests to brokers, but at least one each second. Driver only.

With Spark's default trigger, a query calls `latestOffset` a hundred times a second. For thousands of topics, these
calls alone keep brokers busy. So `latestOffset` waits before its requests: a tenth of the time since the last message,
but at most a second. `latestOffset` never answers from memory, because `processAllAvailable` needs current answers.

A query of several sources is not idle while it has micro-batches, even if this source has no messages for them. Spark
then commits the offset of each source, and `note_news` is called. So a quiet source does not slow down a busy source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark_pulsar.runtime import time

MOST_SECONDS: Final = 1.0
_SHARE: Final = 0.1


class IdlePause:
    """The pause before the next requests of one query. Used by one thread."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._requested: float | None = None
        self._last_news = clock()

    def wait_before_request(self) -> None:
        """Wait until requests to brokers are allowed again, for at most `MOST_SECONDS`."""
        if self._requested is not None:
            pause = min(MOST_SECONDS, _SHARE * (self._requested - self._last_news))
            wait = self._requested + pause - self._clock()
            if wait > 0:
                self._sleep(wait)
        self._requested = self._clock()

    def note_news(self) -> None:
        """Record that messages are available, or that the query had a micro-batch."""
        self._last_news = self._clock()
