"""Calls that wait for servers, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def map_concurrently(
    call: Callable[[Item], Answer], items: Iterable[Item], threads: int = 16
) -> list[Answer]:
    """Return `call(item)` for each item, in the order of the items.

    A single item is handled in the caller's thread, more of them in threads that end with this function.

    Args:
        call: Waits for a server, and is safe to run in several threads.
        items: All items, however many.
        threads: The largest number of calls at a time.

    Raises:
        Exception: The first error of a call, in the order of the items. Calls that have not started by then never
            start; those that have are waited for.

    """
    rest = list(items)
    if len(rest) <= 1:
        return [call(item) for item in rest]
    with ThreadPoolExecutor(min(threads, len(rest)), thread_name_prefix="pulsar") as pool:
        # The iterator of `map` cancels what has not started when an error ends it.
        return list(pool.map(call, rest))
