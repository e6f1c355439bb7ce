"""Faults of ledgers and bookies while a query reads them: the query returns the right rows or the right
error.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pulsar as official_client
import pytest
from fixtures.cluster import object_store
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.ranges import Row, cluster_options, planned, rows_by_partition, rows_while
from integration.official import await_true

from pyspark_pulsar.client.bookkeeper.connection import directory
from pyspark_pulsar.client.bookkeeper.connection.directory import KnownDirectories
from pyspark_pulsar.errors import DataLossError, LedgerUnavailable, OptionError, PulsarError
from pyspark_pulsar.inspect.audit import ledgers_table
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.audit_files import audit_files
from pyspark_pulsar.tools.standalone.settings import choose_port

NAMED = "a-bookie-with-a-name"


def fill(
    client: official_client.Client, admin: ClusterAdmin, topic: str, *, ledgers: int, entries: int, size: int
) -> None:
    """Write closed ledgers with this number of entries, and one message in the open ledger."""
    number = 0
    for _ in range(ledgers):
        producer = client.create_producer(topic, batching_enabled=False, block_if_queue_full=True)
        for _ in range(entries):
            number += 1
            producer.send_async(content(number, size), callback=lambda *_: None)
        producer.flush()
        producer.close()
        admin.roll(topic)
    producer = client.create_producer(topic)
    producer.send(b"in the open ledger")
    producer.close()


def content(number: int, size: int) -> bytes:
    return (b"<%d>" % number).ljust(size, b"x")


def locations(splits: list[Split]) -> set[str]:
    return {split_range.location.name for split in splits for split_range in split.ranges}


class Prepared:
    """A topic with several closed ledgers on bookies, and the rows that the broker's reader returns."""

    def __init__(self, cluster: PulsarCluster, admin: ClusterAdmin, topic: str) -> None:
        self.topic = topic
        self.ledgers = [each.ledger for each in admin.ledgers(topic) if not each.is_open]
        self._cluster = cluster
        self.rows = self.read(self.options("broker"))

    def options(self, read_from: str, **more: str) -> dict[str, str]:
        """Return options for one split with small record batches, so that a fault happens in the middle of a
        task.
        """
        given = {"batchRows": "10", "maxBytesPerPartition": str(1 << 40), "pollTimeoutMs": "90000", **more}
        return cluster_options(self._cluster, self.topic, readFrom=read_from, **given)

    def read(self, options: Mapping[str, str]) -> list[Row]:
        return rows_by_partition(options)[self.topic]

    def read_while(self, options: Mapping[str, str], event: Callable[[], None]) -> list[Row]:
        """Return the rows; `event` is called after the first record batch. The plan reads closed ledgers directly."""
        splits = planned(options)
        assert locations(splits) in ({"bookie", "broker"}, {"tiered", "broker"})
        return rows_while(options, splits, event)[self.topic]


Make = Callable[..., Prepared]


@pytest.fixture
def make(
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    namespace: str,
) -> Make:
    def make_topic(ledgers: int = 3, entries: int = 40, size: int = 100) -> Prepared:
        topic = f"persistent://{namespace}/t"
        fill(cluster_client, cluster_admin, topic, ledgers=ledgers, entries=entries, size=size)
        return Prepared(cluster, cluster_admin, topic)

    return make_topic


@pytest.mark.parametrize("read_from", ["bookie", "auto"])
def test_a_bookie_is_killed_in_the_middle_of_a_ledger(
    read_from: str, make: Make, cluster: PulsarCluster
) -> None:
    """Write a ledger of 40 MB, more than a reader requests ahead; each entry has a second copy."""
    prepared = make(ledgers=1, entries=190, size=210_000)
    victim = cluster.bookies[0]
    try:
        found = prepared.read_while(prepared.options(read_from), victim.kill)
    finally:
        victim.start()
        cluster.await_in_service(victim)
    assert found == prepared.rows
    assert len(found) == 191


def test_a_bookie_is_down_from_the_start(
    make: Make, cluster: PulsarCluster, caplog: pytest.LogCaptureFixture
) -> None:
    prepared = make()
    for victim in cluster.bookies[:2]:
        with cluster.without(victim.address):
            for read_from in ("bookie", "auto"):
                options = prepared.options(read_from)
                assert locations(planned(options)) == {"bookie", "broker"}
                assert prepared.read(options) == prepared.rows
    assert "rest of a range from the broker" not in caplog.text


def test_all_bookies_of_a_ledger_are_down(
    make: Make, cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str
) -> None:
    cluster_admin.set_ensemble(namespace, 1, 1)
    prepared = make(ledgers=1)
    (ledger,) = prepared.ledgers
    (bookie,) = cluster_admin.ensembles(prepared.topic)[ledger]
    options = prepared.options("bookie", bookieTimeoutMs="1000")
    splits = planned(options)
    with cluster.without(bookie), pytest.raises(LedgerUnavailable) as refused:
        rows_by_partition(options, splits)
    for part in (prepared.topic, f"ledger {ledger}", bookie):
        assert part in str(refused.value)
    assert prepared.read(prepared.options("bookie")) == prepared.rows


@contextmanager
def flipped(cluster: PulsarCluster, text: bytes, addresses: list[str]) -> Iterator[None]:
    """Flip one bit in each copy of `text` that these bookies have on disk."""
    bookies = [each for each in cluster.bookies if each.address in addresses]
    with cluster.without(*addresses):
        for bookie in bookies:
            files = [path for path in (cluster.data / bookie.name).rglob("*") if path.is_file()]
            assert sum(_flip(path, text) for path in files) > 0, f"{bookie.name} has no copy"
    yield


def _flip(path: Path, text: bytes) -> int:
    data = bytearray(path.read_bytes())
    at, count = data.find(text), 0
    while at >= 0:
        data[at + len(text) - 1] ^= 1
        at, count = data.find(text, at), count + 1
    if count:
        path.write_bytes(data)
    return count


def test_a_bit_is_flipped_in_the_files_of_one_bookie(
    make: Make, cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str
) -> None:
    cluster_admin.set_ensemble(namespace, 2, 2)
    prepared = make()
    first, _ = cluster_admin.ensembles(prepared.topic)[prepared.ledgers[0]]
    with flipped(cluster, content(7, 100), [first]):
        for read_from in ("bookie", "auto"):
            assert prepared.read(prepared.options(read_from)) == prepared.rows


def test_a_bit_is_flipped_in_the_files_of_all_bookies(
    make: Make, cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str
) -> None:
    """The entry is unavailable then, and no reader invents another one or leaves it out."""
    cluster_admin.set_ensemble(namespace, 2, 2)
    prepared = make()
    ledger = prepared.ledgers[0]
    with flipped(cluster, content(7, 100), cluster_admin.ensembles(prepared.topic)[ledger]):
        with pytest.raises(PulsarError, match=rf"ledger {ledger}, entry 6\b.*digest"):
            prepared.read(prepared.options("bookie"))
        with pytest.raises(PulsarError, match=prepared.topic):
            prepared.read(prepared.options("auto", pollTimeoutMs="15000"))


def test_ledgers_are_offloaded_meanwhile(
    make: Make, cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str
) -> None:
    cluster_admin.offload_to_bucket(namespace)
    prepared = make()

    def offload() -> None:
        for ledger in cluster_admin.offload(prepared.topic):
            cluster.await_deleted(ledger)

    auto, bookie = prepared.options("auto"), prepared.options("bookie")
    splits = planned(bookie)
    assert prepared.read_while(auto, offload) == prepared.rows
    with pytest.raises(LedgerUnavailable, match=f"ledger {prepared.ledgers[0]}"):
        rows_by_partition(bookie, splits)
    assert locations(planned(auto)) == {"tiered", "broker"}
    assert prepared.read(auto) == prepared.rows


@pytest.fixture
def make_for(make: Make, cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str) -> Make:
    """Return a topic whose closed ledgers are in the location that this `readFrom` reads."""

    def make_topic(read_from: str) -> Prepared:
        if read_from == "tiered":
            cluster_admin.offload_to_bucket(namespace)
        prepared = make()
        if read_from == "tiered":
            for ledger in cluster_admin.offload(prepared.topic):
                cluster.await_deleted(ledger)
        return prepared

    return make_topic


@pytest.mark.parametrize("read_from", ["bookie", "tiered", "auto"])
def test_retention_removes_ledgers_meanwhile(
    read_from: str, make_for: Make, cluster: PulsarCluster, cluster_admin: ClusterAdmin, namespace: str
) -> None:
    prepared = make_for(read_from)
    with pytest.raises(DataLossError) as lost:
        prepared.read_while(
            prepared.options(read_from), lambda: trim(cluster, cluster_admin, namespace, prepared)
        )
    said = f"{prepared.topic}: expected entries 0 to 39 of ledger {prepared.ledgers[1]} (40 entries), but retention"
    assert said in str(lost.value)


@pytest.mark.parametrize("read_from", ["bookie", "tiered", "auto"])
def test_retention_removes_ledgers_meanwhile_and_that_is_allowed(
    read_from: str,
    make_for: Make,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    prepared = make_for(read_from)
    options = prepared.options(read_from, failOnDataLoss="false", auditPath=str(tmp_path))
    with caplog.at_level(logging.WARNING):
        found = prepared.read_while(options, lambda: trim(cluster, cluster_admin, namespace, prepared))
    gone = prepared.ledgers[1:]
    assert found == [row for row in prepared.rows if row[0].ledger not in gone]
    audit = ledgers_table(audit_files(str(tmp_path))).to_pylist()
    short = {row["ledger"]: row["entries"] for row in audit if row["short"]}
    assert short == dict.fromkeys(gone, 0)
    for ledger in gone:
        assert f"entries 0 to 39 of ledger {ledger} (40 entries), but retention" in caplog.text


def trim(cluster: PulsarCluster, admin: ClusterAdmin, namespace: str, prepared: Prepared) -> None:
    """Remove the closed ledgers, and wait until they are deleted from bookies and bucket."""
    copies = admin.offload_ids(prepared.topic)
    admin.remove_closed(namespace, prepared.topic)
    for ledger in prepared.ledgers:
        cluster.await_deleted(ledger)
    for ledger, copy in copies.items():
        name = f"{copy}-ledger-{ledger}"
        await_true(
            f"deletion of {name}", lambda name=name: not object_store.is_stored(cluster.s3_endpoint, name)
        )


def test_a_bookie_with_an_id_that_is_no_address(
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    namespace: str,
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An option names its address, or its HTTP server does, or what operators wrote down of its rack."""
    http_port = choose_port(None, None)
    http = {"httpServerEnabled": "true", "httpServerPort": str(http_port)}
    named = cluster.new_bookie("bookie-named", bookieId=NAMED, **http)
    rack = f"bookies/racks-info/{NAMED}"
    try:
        named.start()
        cluster.await_in_service(named, NAMED)
        cluster_admin.set_ensemble(namespace, 4, 2)
        prepared = make()
        with pytest.raises(OptionError, match=f"bookieAddresses.*{NAMED}"):
            prepared.read(prepared.options("bookie"))
        options = prepared.options("auto")
        assert prepared.read(options) == prepared.rows
        assert any(f"the addresses of bookies {NAMED} are unknown" in note for note in notes(options))
        told = (
            {"bookieAddresses": json.dumps({NAMED: named.address})},
            {"bookieHttpUrl": f"http://127.0.0.1:{http_port}"},
            {},
        )
        for more in told:
            if not more:
                answer = cluster_admin.request(
                    "POST", f"{rack}?group=default", {"rack": "/named", "hostname": named.address}
                )
                assert answer.status < 300, answer.data
            monkeypatch.setattr(directory, "_DIRECTORIES", KnownDirectories())
            for read_from in ("bookie", "auto"):
                options = prepared.options(read_from, **more)
                assert locations(planned(options)) == {"bookie", "broker"}
                assert prepared.read(options) == prepared.rows
            assert not any(NAMED in note for note in notes(options))
    finally:
        cluster_admin.request("DELETE", rack)
        named.stop()


def notes(options: Mapping[str, str]) -> tuple[str, ...]:
    return plan_batch(parse_options(ReadOptions, dict(options))).notes


def test_without_an_admin_url_all_comes_from_the_broker(make: Make) -> None:
    prepared = make()
    options = {key: value for key, value in prepared.options("auto").items() if key != "admin.url"}
    assert locations(planned(options)) == {"broker"}
    assert prepared.read(options) == prepared.rows
    with pytest.raises(OptionError, match=r"admin\.url"):
        planned({**options, "readFrom": "bookie"})
