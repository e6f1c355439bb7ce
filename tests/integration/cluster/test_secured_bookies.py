"""Bookies with TLS and authentication: what is read over it, what crosses the network, how each fault looks."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pulsar as official_client
import pytest
from fixtures.certificates import Authority
from fixtures.cluster.configuration import bookie_tls_settings
from fixtures.cluster.pulsar_cluster import PASSWORD, USER, PulsarCluster
from fixtures.cluster.server import Server
from integration.cluster.administration import ClusterAdmin
from integration.cluster.test_bookie_reads import Reading, locations

from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH, BookieHealth
from pyspark_pulsar.client.bookkeeper.connection.address import bookie_address
from pyspark_pulsar.client.bookkeeper.connection.channel import BookieSecurity
from pyspark_pulsar.client.bookkeeper.connection.connections import ConnectionLost
from pyspark_pulsar.client.bookkeeper.connection.probe import probe_bookies
from pyspark_pulsar.client.security.tls import Tls
from pyspark_pulsar.errors import LedgerUnavailable, OptionError, PermissionDenied, PulsarError, TlsFailed
from pyspark_pulsar.read.batch.batch_plan import plan_batch

_START_SECONDS = 90.0
_MARK = b"plain as daylight"


class Tap:
    """Forwards to one bookie, and notes every byte of both directions."""

    def __init__(self, bookie: str) -> None:
        self.bookie = bookie
        self.seen = bytearray()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listening]
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                reader, _ = self._listening.accept()
                host, _, port = self.bookie.rpartition(":")
                bookie = socket.create_connection((host, int(port)))
                self._open += [reader, bookie]
                for source, sink in ((reader, bookie), (bookie, reader)):
                    threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture(autouse=True)
def _fresh_memory() -> None:
    BOOKIE_HEALTH.__dict__.update(BookieHealth().__dict__)


@pytest.fixture
def taps(cluster: PulsarCluster) -> Iterator[list[Tap]]:
    made = [Tap(bookie.address) for bookie in cluster.bookies]
    yield made
    for tap in made:
        tap.close()


@pytest.fixture(scope="module")
def topic(cluster: PulsarCluster, cluster_admin: ClusterAdmin, cluster_client: official_client.Client) -> str:
    """A closed ledger with plain messages, and an open one."""
    namespace = "public/secured-bookies"
    cluster_admin.create_namespace(namespace)
    cluster_admin.set_ensemble(namespace, 3, 2)
    name = f"persistent://{namespace}/t"
    for messages in (120, 1):
        producer = cluster_client.create_producer(name)
        for number in range(messages):
            producer.send_async(_MARK + b" %d" % number, callback=lambda *_: None)
        producer.flush()
        producer.close()
        if messages > 1:
            cluster_admin.roll(name)
    return name


@pytest.fixture
def reading(cluster: PulsarCluster, topic: str) -> Reading:
    return Reading(cluster, topic, [])


@pytest.fixture
def secured(cluster: PulsarCluster, taps: list[Tap]) -> dict[str, Any]:
    """Options by which all is well."""
    own = cluster.authority.client("spark")
    return {
        "bookie_tls": True,
        "bookie_trust_certs": cluster.authority.trust,
        "bookie_certificate": own.certificate,
        "bookie_key": own.key,
        "bookie_addresses": tuple((tap.bookie, f"127.0.0.1:{tap.port}") for tap in taps),
        "bookie_timeout_ms": 5000,
    }


def test_no_message_crosses_in_plain_text(reading: Reading, secured: dict[str, Any], taps: list[Tap]) -> None:
    expected = reading.read("broker")
    for tls in (True, False):
        options = secured | {"bookie_tls": tls}
        splits = reading.splits(read_from="bookie", **options)
        assert locations(splits) == {"bookie", "broker"}
        assert reading.rows(splits, read_from="bookie", **options) == expected
        seen = b"".join(bytes(tap.seen) for tap in taps)
        assert (_MARK in seen) is not tls, "what the taps would have seen"
    assert locations(reading.splits(**secured)) == {"bookie", "broker"}, "auto"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("another authority", "certificate is not trusted: .*bookkeeperTLSTrustCertsFilePath"),
        ("no certificate", "refused TLS.*bookkeeperTLSCertificateFilePath"),
        ("an expired certificate", "refused TLS.*bookkeeperTLSCertificateFilePath"),
        ("another host", "mismatch.*bookkeeper_tlsHostnameVerificationEnabled=false"),
    ],
)
def test_without_tls_that_holds_nothing_is_read_from_bookies(
    fault: str, words: str, cluster: PulsarCluster, reading: Reading, secured: dict[str, Any], taps: list[Tap]
) -> None:
    """The task reads from another location with `auto`, and logs the reason; planning fails with `bookie`."""
    options = dict(secured)
    if fault == "another authority":
        options["bookie_trust_certs"] = Authority(cluster.data, "others").trust
    elif fault == "no certificate":
        options["bookie_certificate"] = options["bookie_key"] = None
    elif fault == "an expired certificate":
        own = cluster.authority.client("former", expired=True)
        options["bookie_certificate"], options["bookie_key"] = own.certificate, own.key
    else:
        options["bookie_addresses"] = tuple((tap.bookie, f"localhost:{tap.port}") for tap in taps)
    with pytest.raises(TlsFailed, match=words):
        reading.splits(read_from="bookie", **options)
    plan = plan_batch(replace(reading.options, **options))
    assert locations(plan.splits) == {"broker"}
    assert [note for note in plan.notes if "nothing is read from bookies" in note]
    planned = reading.splits(read_from="bookie", **secured)
    with pytest.raises(LedgerUnavailable, match=words):
        reading.rows(planned, read_from="bookie", **options)
    assert reading.rows(planned, **options) == reading.read("broker"), "a task goes on at the broker"
    assert _MARK not in b"".join(bytes(tap.seen) for tap in taps)
    if fault == "another host":
        anyone = options | {"bookie_verify_hostname": False}
        assert locations(reading.splits(read_from="bookie", **anyone)) == {"bookie", "broker"}


def test_a_missing_file_is_named(reading: Reading, secured: dict[str, Any]) -> None:
    for read_from in ("auto", "bookie"):
        with pytest.raises(OptionError, match="/nowhere"):
            reading.splits(read_from=read_from, **(secured | {"bookie_trust_certs": "/nowhere"}))


@pytest.fixture(scope="module")
def strict(cluster: PulsarCluster) -> Iterator[dict[str, Server]]:
    """Bookies that demand more of their clients. They accept no entries, so that the broker does not use
    them.
    """
    authority = cluster.authority
    own = authority.server("strict", ("127.0.0.1",))
    expired = authority.server("expired", ("127.0.0.1",), expired=True)
    sasl = {"bookieAuthProviderFactoryClass": "org.apache.bookkeeper.sasl.SASLBookieAuthProviderFactory"}
    roles = {
        "bookieAuthProviderFactoryClass": "org.apache.bookkeeper.tls.BookieAuthZFactory",
        "authorizedRoles": "reader",
    }
    settings = {
        "roles": bookie_tls_settings(own, authority.trust) | roles,
        "password": sasl,
        "password and TLS": bookie_tls_settings(expired, authority.trust, asks=False) | sasl,
    }
    made = {
        name: cluster.new_bookie(
            name.replace(" ", "-"), readOnlyModeEnabled="true", forceReadOnlyBookie="true", **each
        )
        for name, each in settings.items()
    }
    try:
        for server in made.values():
            server.launch()
        for server in made.values():
            server.await_port()
            await_refusal(server)
        yield made
    finally:
        for server in made.values():
            server.kill()


def await_refusal(bookie: Server) -> None:
    """Return once the bookie refuses a stranger: its port accepts connections some seconds before it answers
    any.
    """
    give_up = time.monotonic() + _START_SECONDS
    # The bookie may never answer a connection that it accepted too early, so the read is repeated soon.
    while (lost := read_fault(bookie, BookieSecurity(), 5.0)) is None or lost.fault is None:
        assert time.monotonic() < give_up, f"{bookie.name} does not answer: {lost}"
        time.sleep(0.1)


def read_fault(bookie: Server, security: BookieSecurity, seconds: float = 30.0) -> ConnectionLost | None:
    """Return the reason why the bookie does not answer a read, or None if it answers."""
    return probe_bookies({"b": bookie_address(bookie.address, {})}, seconds, security).get("b")


def refused(bookie: Server, security: BookieSecurity, kind: type[PulsarError], words: str) -> None:
    lost = read_fault(bookie, security)
    assert lost is not None
    assert isinstance(lost.fault, kind), lost
    assert words in str(lost.fault)


def tls_of(
    authority: Authority, role: str | None = None, unit: str | None = None, *, insecure: bool = False
) -> Tls:
    own = None if role is None else authority.client(role, unit)
    return Tls(authority.trust, None if own is None else (own.certificate, own.key), insecure=insecure)


def login(password: str = PASSWORD, user: str = USER) -> Any:
    return lambda: (user, password)


def test_roles_in_certificates(cluster: PulsarCluster, strict: dict[str, Server]) -> None:
    bookie, authority = strict["roles"], cluster.authority
    assert read_fault(bookie, BookieSecurity(tls_of(authority, "a", "0:reader;1:c"))) is None
    other = BookieSecurity(tls_of(authority, "b", "0:writer"))
    refused(bookie, other, PermissionDenied, "authorizedRoles")
    refused(bookie, BookieSecurity(tls_of(authority, "c")), PermissionDenied, "authorizedRoles")
    refused(bookie, BookieSecurity(), PermissionDenied, "requires authentication")
    refused(bookie, BookieSecurity(tls_of(authority)), TlsFailed, "refused TLS")
    refused(bookie, BookieSecurity(login=login()), PermissionDenied, "another kind of authentication")


def test_passwords(cluster: PulsarCluster, strict: dict[str, Server]) -> None:
    bookie = strict["password"]
    assert read_fault(bookie, BookieSecurity(login=login())) is None
    for wrong in (login("no"), login(user="bookkeeper-nobody")):
        refused(bookie, BookieSecurity(login=wrong), PermissionDenied, "refused the user and password")
    refused(bookie, BookieSecurity(), PermissionDenied, "requires authentication")
    refused(bookie, BookieSecurity(tls_of(cluster.authority)), TlsFailed, "TLS is not configured there")
    assert read_fault(cluster.bookies[0], BookieSecurity(login=login())) is None, (
        "a bookie that asks for none"
    )


def test_passwords_over_tls(cluster: PulsarCluster, strict: dict[str, Server]) -> None:
    bookie, authority = strict["password and TLS"], cluster.authority
    refused(
        bookie, BookieSecurity(tls_of(authority), login()), TlsFailed, "expired; have the certificate renewed"
    )
    anyone = tls_of(authority, insecure=True)
    assert read_fault(bookie, BookieSecurity(anyone, login())) is None
    refused(bookie, BookieSecurity(anyone, login("no")), PermissionDenied, "refused the user and password")
    refused(bookie, BookieSecurity(anyone), PermissionDenied, "refused this client")
