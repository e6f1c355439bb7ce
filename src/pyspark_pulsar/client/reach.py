"""Which of several servers take connections: asked of all at the same time, from the driver."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

_AT_ONCE: Final = 32
_MAX_PORT: Final = 65535


def reachable(addresses: Iterable[str], seconds: float) -> frozenset[str]:
    """Those of the `host:port` texts that take a TCP connection within `seconds`; never raises.

    A text that is no address is not among them.
    """
    wanted = sorted(set(addresses))
    if not wanted:
        return frozenset()
    with ThreadPoolExecutor(min(_AT_ONCE, len(wanted)), thread_name_prefix="pulsar-reach") as pool:
        answers = pool.map(lambda address: _takes_connections(address, seconds), wanted)
        return frozenset(address for address, answer in zip(wanted, answers, strict=True) if answer)


def _takes_connections(address: str, seconds: float) -> bool:
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= _MAX_PORT:
        return False
    try:
        socket.create_connection((host.removeprefix("[").removesuffix("]"), int(port)), seconds).close()
    except (OSError, UnicodeError):
        return False
    return True
