"""A deadline for calls without one: reading a file on a network share, a name lookup, a slow identity provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.runtime import Future, socket, threading

Result = TypeVar("Result")
SocketAddress = tuple[Any, ...]
"""Family, kind, protocol, canonical name and address, as `socket.getaddrinfo` returns them."""


def within(seconds: float, work: Callable[[], Result], what: str) -> Result:
    """Call `work` on a daemon thread and wait for its result.

    The thread continues after the deadline until `work` returns, so `work` must nearly always end by itself.

    Args:
        seconds: The deadline.
        work: The call.
        what: The beginning of the error message, such as "reading the credentials".

    Raises:
        DeadlineExceeded: `work` has not returned in time.
        Exception: The error of `work`.

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
    except BaseException as fault:  # noqa: BLE001 -- the caller raises it
        done.set_exception(fault)
    else:
        done.set_result(result)


def addresses_of(host: str, port: int, seconds: float) -> list[SocketAddress]:
    """Return the socket addresses of a host.

    Args:
        host: The host name or address.
        port: The port of the socket addresses.
        seconds: The deadline.

    Raises:
        DeadlineExceeded: The lookup did not end in time.
        OSError: The lookup failed.

    """
    return within(
        seconds,
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM),
        f"looking up the host {host}",
    )
