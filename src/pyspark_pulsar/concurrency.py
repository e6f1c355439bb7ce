"""Concurrent calls that wait for servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pyspark_pulsar.runtime import ThreadPoolExecutor

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def map_concurrently(
    call: Callable[[Item], Answer], items: Iterable[Item], threads: int = 16
) -> list[Answer]:
    """Return `call(item)` for each item, in the order of the items.

    A single item is processed on the caller's thread. Several items are processed on new threads, which end before this
    function returns.

    Args:
        call: The call, which is safe to run on several threads.
        items: The arguments of the calls.
        threads: The largest number of concurrent calls.

    Raises:
        Exception: The first error of a call, in the order of the items. The calls for all earlier items are completed
            first. Then the calls that have not started are canceled. The error is raised after the running calls end.

    """
    rest = list(items)
    if len(rest) <= 1:
        return [call(item) for item in rest]
    with ThreadPoolExecutor(min(threads, len(rest)), thread_name_prefix="pulsar") as pool:
        # When an error ends the iterator of `map`, the iterator cancels the calls that have not started.
        return list(pool.map(call, rest))
