"""A check on the driver whether bookies answer read requests. The check requests up to 32 bookies at a time."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import partial
from typing import Final

from pyspark_pulsar.client.bookkeeper.connection import response_status
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.channel import BookieSecurity
from pyspark_pulsar.client.bookkeeper.connection.connections import BookieConnections, ConnectionLost
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import PermissionDenied

_AT_ONCE: Final = 32
_READ_ENTRY: Final = 0x0202_0000
"""The header of a READ_ENTRY request: version 2 of the protocol, without flags."""
_NO_LEDGER: Final = (1 << 63) - 1
_ANSWER: Final = struct.Struct(">IIi")
"""Size, header and code of an answer. The check ignores the rest of the answer."""


def probe_bookies(
    addresses: Mapping[str, BookieAddress], seconds: float, security: BookieSecurity
) -> dict[str, ConnectionLost]:
    """Send each bookie a read of a ledger that cannot exist, and collect the failures.

    Args:
        addresses: The address of each bookie, by its id.
        seconds: The time limit in seconds for connecting, and for each pause in an answer.
        security: TLS and authentication settings.

    Returns:
        The failures by bookie id, without the bookies that answered.

    Raises:
        OptionError: The certificate files are unusable.

    """
    if not addresses:
        return {}
    probe = partial(_probe, seconds=seconds, security=security)
    lost = map_concurrently(probe, addresses.items(), _AT_ONCE)
    return {bookie: event for bookie, event in zip(addresses, lost, strict=True) if event is not None}


def _probe(
    named: tuple[str, BookieAddress], seconds: float, security: BookieSecurity
) -> ConnectionLost | None:
    bookie, address = named
    answer = b""
    with BookieConnections({bookie: address}, seconds, security) as connections:
        connections.send(bookie, struct.pack(">IIqq", 20, _READ_ENTRY, _NO_LEDGER, 0))
        while len(answer) < _ANSWER.size:
            for event in connections.wait({bookie}, seconds):
                if isinstance(event, ConnectionLost):
                    return event
                answer += event.data
    if _ANSWER.unpack_from(answer)[2] != response_status.NOT_AUTHENTICATED:
        return None
    fault = PermissionDenied(
        f"bookie {address} {response_status.describe(response_status.NOT_AUTHENTICATED)}"
    )
    return ConnectionLost(bookie, 0, str(fault), fault=fault)
