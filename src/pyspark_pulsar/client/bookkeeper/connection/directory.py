"""Addresses of bookies whose ids are not addresses, such as `bookieId=bk-0` in bookkeeper.conf.

Pulsar 4.0.8 and BookKeeper 4.17.2 have these sources of addresses:

    source                                            | contents
    admin REST, bookies/all; the metadata of ledgers  | ids alone
    admin REST, bookies/racks-info; superusers        | `hostname`: set by operators with `pulsar-admin bookies
                                                      | set-bookie-rack --hostname`, a host, or host:port
    a bookie's HTTP server, bookie/list_bookies       | the host of each id; no port
    the same, config/server_config                    | `bookiePort` of that bookie
    metadata store, /ledgers/available/ID             | host and port; not accessible to clients

So the port is the one of the bookie with the HTTP server, or BookKeeper's default. Answers are cached for a minute,
because a stream plans every few seconds. The driver uses this module, and executors that need another copy of a ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import urllib3
from urllib3.exceptions import HTTPError

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress, host_and_port
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, ProtocolError, PulsarError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.runtime import time

_KEPT_SECONDS: Final = 60.0
_MOST_BYTES: Final = 16 << 20
_DEFAULT_PORT: Final = 3181
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class Directory:
    """Addresses of bookies, as far as they are known."""

    addresses: Mapping[str, str]
    """`host:port` by the bookie's id."""
    fault: PulsarError | None = None
    """The reason why addresses may be missing."""


class KnownDirectories:
    """A cache of directories for one minute, by role and server, because only superusers may see racks.

    Instances are safe to use from several threads, because each step is a single operation on a dictionary.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[float, Directory]] = {}

    def load(self, options: ReadOptions, admin: AdminClient) -> Directory:
        """Return the directory, from the cache or the cluster. Failures are in `fault` and are not raised."""
        key = (options.identity, options.bookie_http_url)
        until, known = self._known.get(key, (0.0, Directory({})))
        if time.monotonic() < until:
            return known
        addresses: dict[str, str] = {}
        fault: PulsarError | None = None
        for ask in (partial(_from_racks, admin), partial(_from_bookie, options)):
            try:
                # Addresses set by operators are read first, and take precedence.
                addresses = ask() | addresses
            except (ConnectionFailed, PermissionDenied, ProtocolError) as refused:
                fault = fault or refused
        directory = Directory(addresses, fault)
        self._known[key] = time.monotonic() + _KEPT_SECONDS, directory
        return directory


_DIRECTORIES: Final = KnownDirectories()


def find_addresses(options: ReadOptions, admin: AdminClient, bookies: Iterable[str]) -> Directory:
    """Find addresses of bookies whose id is not an address, unless `bookieAddresses` names them.

    Without such bookies, no request is sent.
    """
    named = dict(options.bookie_addresses)
    nameless = {bookie for bookie in bookies if bookie not in named and host_and_port(bookie) is None}
    if not nameless:
        return Directory({})
    directory = _DIRECTORIES.load(options, admin)
    known = {bookie: address for bookie, address in directory.addresses.items() if bookie in nameless}
    return Directory(known, directory.fault)


def _from_racks(admin: AdminClient) -> dict[str, str]:
    return {
        bookie: str(_address(host, _DEFAULT_PORT)) for bookie, host in admin.bookies.hosts().items() if host
    }


def _from_bookie(options: ReadOptions) -> dict[str, str]:
    url = options.bookie_http_url
    if url is None:
        return {}
    with urllib3.PoolManager(timeout=options.bookie_timeout_ms / 1000, retries=False) as http:
        port = _get(http, f"{url}/api/v1/config/server_config").get("bookiePort", _DEFAULT_PORT)
        hosts: dict[str, Any] = {}
        for kind in ("ro", "rw"):
            hosts |= _get(http, f"{url}/api/v1/bookie/list_bookies?type={kind}&print_hostnames=true")
    return {
        bookie: str(BookieAddress(host, int(port))) for bookie, host in hosts.items() if isinstance(host, str)
    }


def _address(host: str, port: int) -> BookieAddress:
    return host_and_port(host) or BookieAddress(host.strip(), port)


def _get(http: urllib3.PoolManager, url: str) -> dict[str, Any]:
    where = f"reading the addresses of bookies (bookieHttpUrl): {url}"
    try:
        answer = http.request("GET", url, preload_content=False)
        text = answer.read(_MOST_BYTES)
        answer.release_conn()
    except HTTPError as fault:
        raise ConnectionFailed(f"{where}: cannot be reached: {fault}") from None
    try:
        document = json.loads(text) if answer.status == _OK else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ProtocolError(
            f"{where}: expected a JSON object of BookKeeper's HTTP server, got an answer with status "
            f"{answer.status}; check that httpServerEnabled=true is set there, and the port (8000 by default)"
        )
    return document
