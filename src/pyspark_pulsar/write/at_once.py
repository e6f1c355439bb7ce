"""Waiting for brokers several times at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_AT_ONCE: Final = 16

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def at_once(work: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """In the order of `items`, up to sixteen at a time, in threads of their own; a single one in the caller's thread.
    Raises the first error; what has not begun by then is not begun, and what has is waited for."""
    rest = list(items)
    if len(rest) == 1:
        return [work(rest[0])]
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pulsar-topics")
    try:
        return list(pool.map(work, rest))
    finally:
        pool.shutdown(cancel_futures=True)
