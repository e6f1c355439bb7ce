"""Where a bookie listens: its id, or what the option `bookieAddresses` says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.pages import page

_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class BookieAddress:
    """Host and port of BookKeeper's own protocol (3181 by default)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def bookie_address(bookie: str, addresses: Mapping[str, str]) -> BookieAddress:
    """The address of the bookie with this id; `addresses` is the option `bookieAddresses`. Raises `OptionError`."""
    listed = addresses.get(bookie)
    address = host_and_port(bookie if listed is None else listed)
    if address is not None:
        return address
    if listed is not None:
        raise OptionError(
            f"option 'bookieAddresses': expected host:port for bookie {bookie!r}, got {listed!r}"
        )
    raise OptionError(
        f"bookie {bookie!r}: its id is not host:port, so its address must be in the option bookieAddresses, "
        f'such as {{"{bookie}": "host:3181"}}, or be told by the cluster '
        f"({page('bookies', 'Names')}); or read from the broker (readFrom=broker)"
    )


def host_and_port(text: str) -> BookieAddress | None:
    """None for what is no address."""
    host, separator, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    fits = separator and host and port.isascii() and port.isdigit() and 0 < int(port) <= _MAX_PORT
    return BookieAddress(host, int(port)) if fits else None
