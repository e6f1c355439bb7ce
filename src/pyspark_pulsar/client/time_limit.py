"""A time limit for calls without their own time limit, such as name lookups and reads of files on a network share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.runtime import Future, socket, threading

Result = TypeVar("Result")
SocketAddress = tuple[Any, ...]
"""A tuple from `socket.getaddrinfo`: family, kind, protocol, canonical name and address."""


def within(seconds: float, work: Callable[[], Result], what: str) -> Result:
    """Call `work` on a daemon thread, and return its result.

    The thread runs until `work` returns, even after the time limit. To limit the number of threads, almost every call
    of `work` must end by itself.

    Args:
        seconds: The time limit in seconds.
        work: The function to call.
        what: The beginning of the error message, such as "reading the credentials".

    Raises:
        DeadlineExceeded: `work` did not return within the time limit.
        Exception: Any error that `work` raised.

    """
    done: Future[Result] = Future()
    threading.Thread(target=_settle, args=(done, work), name="pulsar-bounded", daemon=True).start()
    try:
        return done.result(max(0.0, seconds))
    except TimeoutError:
        if done.done():
            raise
        raise DeadlineExceeded(f"{what}: expected a result within {seconds:.1f} s, got none") from None


def _settle(done: Future[Result], work: Callable[[], Result]) -> None:
    try:
        result = work()
    except BaseException as fault:  # noqa: BLE001 -- the waiting thread raises the error
        done.set_exception(fault)
    else:
        done.set_result(result)


def addresses_of(host: str, port: int, seconds: float) -> list[SocketAddress]:
    """Look up the socket addresses of a host.

    Args:
        host: The host name or address.
        port: The port of the returned socket addresses.
        seconds: The time limit in seconds.

    Raises:
        DeadlineExceeded: The lookup did not end within the time limit.
        OSError: The lookup failed.

    """
    return within(
        seconds,
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM),
        f"looking up the host {host}",
    )
