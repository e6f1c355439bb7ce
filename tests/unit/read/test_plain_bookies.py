"""A query with TLS sends no plain text to bookies unless an option allows it, from tasks and from the planner."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.bookkeeper.connection.address import BookieAddress
from pyspark_pulsar.client.bookkeeper.connection.channel import BookieChannel, BookieSecurity
from pyspark_pulsar.client.ledger import Ensemble, Ledger, LedgerMetadata
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import EntryLocation, PartitionAccess
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.placement.ledger_placement import find_placement
from pyspark_pulsar.read.planning.placement.on_bookies import kept_by_bookies
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.compacted import FromCompactedLedger

A = TopicPartition.parse("a")
OPTIONS = ReadOptions(
    service_url="pulsar+ssl://h:1",
    admin_url="http://127.0.0.1:1",
    topic="a",
    bookie_timeout_ms=300,
    operation_timeout_ms=1,
)


@pytest.fixture
def bookie() -> Iterator[socket.socket]:
    """A listener that never answers, because only the requests matter."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def ledger_on(bookie: socket.socket) -> Ledger:
    host, port = bookie.getsockname()
    return Ledger(
        7, 10, 100, None, 1000, metadata=LedgerMetadata(1, "CRC32C", (Ensemble(0, (f"{host}:{port}",)),))
    )


def sent_bytes(bookie: socket.socket) -> list[bytes]:
    """Return the bytes that were sent on each connection. All connections are closed by now."""
    found: list[bytes] = []
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, _ = bookie.accept()
            with connection:
                connection.setblocking(True)
                found.append(b"".join(iter(lambda: connection.recv(4096), b"")))  # noqa: B023 -- at once
    return found


def read(options: ReadOptions, location: EntryLocation) -> None:
    client: Any = None
    for _ in location.open(PartitionAccess(options, A, client), Position(7, 0), Position(7, 10)):
        pass


START_TLS = BookieChannel(BookieSecurity(Tls()), BookieAddress("h", 1)).begin()


@pytest.mark.parametrize("striped", [True, False])
def test_a_task_connects_only_by_tls(bookie: socket.socket, striped: bool) -> None:
    ledger = ledger_on(bookie)
    [name] = ledger.metadata.ensembles[0].bookies if ledger.metadata else ()
    given = ledger if striped else replace(ledger, metadata=None)
    view = FromCompactedLedger(replace(ledger, metadata=None), (name,))
    for location in (FromBookies(given, (name,)), view):
        with pytest.raises(LedgerUnavailable, match="did not answer during the TLS handshake within"):
            read(OPTIONS, location)
    assert set(sent_bytes(bookie)) == {START_TLS}


def test_a_planner_connects_only_by_tls(bookie: socket.socket) -> None:
    ledger = ledger_on(bookie)
    offloaded = replace(ledger, id=6, offload_id="u")
    [name] = ledger.metadata.ensembles[0].bookies if ledger.metadata else ()
    assert kept_by_bookies(OPTIONS, [(A, offloaded)], [name]) == frozenset()
    wanted = {A: (TopicLedgers((offloaded, ledger)), {6, 7})}
    with AdminClient(OPTIONS) as admin:
        placement, _ = find_placement(OPTIONS, admin, wanted, views=True)
    assert {placement.location_of(A, each).name for each in (offloaded, ledger)} == {"broker"}
    assert set(sent_bytes(bookie)) == {START_TLS}


def test_an_option_allows_plain_text(bookie: socket.socket) -> None:
    ledger = ledger_on(bookie)
    with pytest.raises(LedgerUnavailable, match="did not answer within"):
        read(replace(OPTIONS, bookie_tls=False), FromBookies(ledger))
    assert START_TLS not in sent_bytes(bookie)


@pytest.mark.parametrize(
    ("service_url", "bookie_tls", "uses_tls"),
    [
        ("pulsar://h:1", None, False),
        ("pulsar+ssl://h:1", None, True),
        ("pulsar+ssl://h:1", False, False),
        ("pulsar://h:1", True, True),
    ],
)
def test_the_service_url_or_an_option_demands_tls(
    service_url: str, bookie_tls: bool | None, uses_tls: bool
) -> None:
    options = ReadOptions(service_url=service_url, topic="a", bookie_tls=bookie_tls)
    assert options.bookies_use_tls == uses_tls
