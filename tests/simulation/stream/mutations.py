"""Mutations of reading streams: each removes one protection. The simulation must find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark_pulsar.read.microbatch.checked_plan import CheckedPlanner
from pyspark_pulsar.read.microbatch.progress.query_progress import QueryProgress

Patch = tuple[object, str, Any]


def _acknowledges_unread(original: Any) -> Any:
    def begin(self: Any, committed: Any, ends: Any, counted_from: Any) -> Any:
        return original(self, ends, ends, counted_from)

    return begin


MUTATIONS: dict[str, Callable[[], list[Patch]]] = {
    "messages are acknowledged before they are read": lambda: [
        (QueryProgress, "begin", _acknowledges_unread(QueryProgress.begin))
    ],
    "a subscription proves nothing": lambda: [
        (CheckedPlanner, "_without_retained", lambda self, starts, removed: removed)
    ],
}
