"""Addresses of bookies, from their ids or the option `bookieAddresses`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.pages import page

_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class BookieAddress:
    """The host and port at which a bookie accepts BookKeeper's binary protocol (by default port 3181)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def bookie_address(bookie: str, addresses: Mapping[str, str]) -> BookieAddress:
    """Return the address of a bookie, from `addresses` if the bookie is listed, and otherwise from the bookie's id.

    Args:
        bookie: The bookie's id.
        addresses: The value of the option `bookieAddresses`: `host:port` by bookie id.

    Raises:
        OptionError: The listed address is invalid, or an unlisted bookie's id is not an address.

    """
    listed = addresses.get(bookie)
    address = host_and_port(bookie if listed is None else listed)
    if address is not None:
        return address
    if listed is not None:
        raise OptionError(
            f"option 'bookieAddresses': expected host:port for bookie {bookie!r}, got {listed!r}"
        )
    raise OptionError(
        f"bookie {bookie!r}: expected an id of the form host:port, got another form and no address from the cluster; "
        f'set the option bookieAddresses, such as {{"{bookie}": "host:3181"}} '
        f"({page('bookies', 'Bookie addresses')}), or read from the broker (readFrom=broker)"
    )


def host_and_port(text: str) -> BookieAddress | None:
    """Parse `host:port`. Return None if the text is not an address."""
    host, separator, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    fits = separator and host and port.isascii() and port.isdigit() and 0 < int(port) <= _MAX_PORT
    return BookieAddress(host, int(port)) if fits else None
