"""Addresses of bookies whose ids are not of the form `host:port`, such as `bookieId=bk-0` in bookkeeper.conf.

Pulsar 4.0.8 and BookKeeper 4.17.2 have these sources of addresses:

    source                                            | contents
    admin REST, bookies/all; the metadata of ledgers  | ids without addresses
    admin REST, bookies/racks-info; superusers only   | `hostname`: a host or host:port, set by operators with
                                                      | `pulsar-admin bookies set-bookie-rack --hostname`
    a bookie's HTTP server, bookie/list_bookies       | the host of each id, without a port
    a bookie's HTTP server, config/server_config      | `bookiePort` of the bookie that answers
    metadata store, /ledgers/available/ID             | host and port, which clients cannot read

If a bookie's HTTP server returned the host, the port is the `bookiePort` of this bookie. Otherwise, an address without
a port has BookKeeper's default port 3181. This module caches answers for 60 s, because a stream plans every few
seconds. The module runs on the driver, and on executors that need another copy of a ledger.
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
    """The bookie addresses that the cluster returned."""

    addresses: Mapping[str, str]
    """The `host:port` of each bookie, by bookie id."""
    fault: PulsarError | None = None
    """The error of the first failed request, which can be the reason for missing addresses. None if no request
    failed."""


class KnownDirectories:
    """A cache that stores each directory for 60 s.

    Roles have separate directories, because only superusers can read racks-info.

    Instances are safe to use from several threads, because each access is a single operation on a dictionary.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[float, Directory]] = {}

    def load(self, options: ReadOptions, admin: AdminClient) -> Directory:
        """Return the directory from the cache or the cluster. If requests fail, `fault` contains the first failure."""
        key = (options.identity, options.bookie_http_url)
        until, known = self._known.get(key, (0.0, Directory({})))
        if time.monotonic() < until:
            return known
        addresses: dict[str, str] = {}
        fault: PulsarError | None = None
        for ask in (partial(_from_racks, admin), partial(_from_bookie, options)):
            try:
                # Addresses from racks-info take precedence, because operators set them.
                addresses = ask() | addresses
            except (ConnectionFailed, PermissionDenied, ProtocolError) as refused:
                fault = fault or refused
        directory = Directory(addresses, fault)
        self._known[key] = time.monotonic() + _KEPT_SECONDS, directory
        return directory


_DIRECTORIES: Final = KnownDirectories()


def find_addresses(options: ReadOptions, admin: AdminClient, bookies: Iterable[str]) -> Directory:
    """Find the addresses of bookies whose id is not an address and is not in the option `bookieAddresses`.

    If `bookies` contains no such bookie, the call sends no request.
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
    where = f"reading the addresses of bookies from {url}"
    try:
        answer = http.request("GET", url, preload_content=False)
        text = answer.read(_MOST_BYTES)
        answer.release_conn()
    except HTTPError as fault:
        raise ConnectionFailed(
            f"{where}: the bookie's HTTP server cannot be reached: {fault}; check bookieHttpUrl"
        ) from None
    try:
        document = json.loads(text) if answer.status == _OK else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ProtocolError(
            f"{where}: expected a JSON object of BookKeeper's HTTP server, got an answer with status "
            f"{answer.status}; check the port in bookieHttpUrl (8000 by default), and httpServerEnabled=true in "
            f"bookkeeper.conf"
        )
    return document
