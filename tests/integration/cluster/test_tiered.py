"""Ledgers read from tiered storage, compared with the same ranges through the broker; and incomplete copies.

The bookies keep their copies here, and brokers prefer them. So the broker returns all rows whatever
happens to the objects.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
import sys
from collections.abc import Iterator

import obstore
import pulsar as official_client
import pytest
from fixtures.cluster import object_store
from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.cluster.server import Server
from integration.cluster.administration import BLOCK_BYTES, ClusterAdmin
from integration.cluster.mixture import produce_every_codec
from integration.cluster.offloaded import DAMAGES, KEYS, Offloaded, send

from pyspark_pulsar.errors import CorruptEntryError, LedgerUnavailable, TieredStorageUnavailable
from pyspark_pulsar.tools.standalone.settings import LOOPBACK, choose_port


@pytest.fixture
def small(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> Offloaded:
    """A closed ledger of 10 entries, in the bucket."""
    topic = f"persistent://{namespace}/t"
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True)
    send(cluster_client, topic, [b"value %d " % number * 20 for number in range(10)])
    cluster_admin.roll(topic)
    return Offloaded(cluster, cluster_admin, topic)


@pytest.mark.parametrize("place", ["bucket", "folder"])
def test_every_range_of_a_copy_has_the_rows_that_the_broker_gives(
    place: str,
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    topic = f"persistent://{namespace}/a=b:c~d*e-partition-1"
    cluster_admin.create_partitioned(topic.removesuffix("-partition-1"), 2)
    if place == "bucket":
        cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True)
    else:
        cluster_admin.offload_to_folder(namespace, keep_on_bookies=True)
    rng = random.Random(5)
    for _ in range(2):
        produce_every_codec(cluster_client, topic, rng)
        cluster_admin.roll(topic)
    stored = Offloaded(cluster, cluster_admin, topic)
    copies = stored.found()
    assert [copy.ledger.id for copy in copies] == [each.id for each in stored.ledgers]
    for copy in copies:
        ledger = copy.ledger
        cuts = sorted({0, ledger.entries, *(rng.randrange(ledger.entries) for _ in range(3))})
        parts = [stored.rows(copy, start, end) for start, end in itertools.pairwise(cuts)]
        rows = [row for part in parts for row in part]
        assert rows == stored.broker_rows(ledger.id, 0, ledger.entries)
        assert len(rows) > ledger.entries


def test_a_reader_may_begin_at_each_block(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    topic = f"persistent://{namespace}/t"
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True)
    rng = random.Random(7)
    send(cluster_client, topic, [rng.randbytes(1_500_000) for _ in range(9)])
    cluster_admin.roll(topic)
    stored = Offloaded(cluster, cluster_admin, topic)
    (copy,) = stored.found()
    assert copy.first_entries == (0, 3, 6)
    rows = [row for start in copy.first_entries for row in stored.rows(copy, start, start + 3)]
    assert rows == stored.broker_rows(copy.ledger.id, 0, 9)


@pytest.mark.parametrize("kind", DAMAGES)
def test_an_incomplete_copy_is_an_error_or_read_from_another_location(
    kind: str, small: Offloaded, caplog: pytest.LogCaptureFixture
) -> None:
    (copy,) = small.found()
    ledger = copy.ledger
    damage, said = DAMAGES[kind]
    damage(small, small.objects[ledger.id])
    with pytest.raises((LedgerUnavailable, CorruptEntryError)) as failed:
        small.rows(copy, 0, ledger.entries)
    for part in (said, small.topic, f"ledger {ledger.id}"):
        assert part in str(failed.value)
    assert object_store.SECRET_KEY not in str(failed.value)
    with caplog.at_level(logging.WARNING):
        rows = small.rows(copy, 0, ledger.entries, read_from="auto")
    assert rows == small.broker_rows(ledger.id, 0, ledger.entries)
    assert len(rows) == 10
    assert "rest of a range from bookies" in caplog.text
    assert "rest of a range from the broker" not in caplog.text


def test_the_planner_leaves_out_what_cannot_be_read(
    small: Offloaded, caplog: pytest.LogCaptureFixture
) -> None:
    (key,) = small.objects.values()
    data = obstore.get(small.bucket, key).bytes().to_bytes()
    obstore.put(small.bucket, key, data[:-1])
    with caplog.at_level(logging.WARNING):
        assert small.found(read_from="auto") == []
    assert "1 of 1 offloaded ledgers are not read from tiered storage" in caplog.text
    with pytest.raises(LedgerUnavailable, match=f"expected {len(data)} bytes"):
        small.found()
    obstore.delete(small.bucket, f"{key}-index")
    with pytest.raises(
        LedgerUnavailable, match=rf"at s3://ledgers/{key}-index, got: the copy does not exist \(404"
    ):
        small.found()


def test_an_unreachable_store_is_reported_immediately(small: Offloaded) -> None:
    changes = {"tiered_storage_options": (*KEYS, ("endpoint", "http://127.0.0.1:1"))}
    assert small.found(read_from="auto", operation_timeout_ms=2000, **changes) == []
    with pytest.raises(TieredStorageUnavailable, match="the connection was refused"):
        small.found(operation_timeout_ms=2000, **changes)
    with pytest.raises(TieredStorageUnavailable, match="NoSuchBucket"):
        small.found(
            tiered_storage_url="s3://nobody", tiered_storage_options=(*KEYS, ("endpoint", small.endpoint))
        )


def test_an_entry_that_the_offloader_left_out_is_noticed(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The broker reports the offload as a success, but leaves out an entry longer than a block, and all later
    entries.
    """
    topic = f"persistent://{namespace}/t"
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True)
    send(cluster_client, topic, [b"a", b"b", bytes(BLOCK_BYTES - 150), b"d", b"e"])
    cluster_admin.roll(topic)
    stored = Offloaded(cluster, cluster_admin, topic)
    (ledger,) = stored.ledgers
    with pytest.raises(LedgerUnavailable, match=rf"ledger {ledger.id}, entry 2: .* longer than a block"):
        stored.found()
    with caplog.at_level(logging.WARNING):
        assert stored.found(read_from="auto") == []
    assert "longer than a block" in caplog.text


@pytest.fixture
def strict_store(cluster: PulsarCluster) -> Iterator[str]:
    """The endpoint of a store that requires credentials and accepts none."""
    port = choose_port(None, None)
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    environment = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "0"}
    server = Server("the strict store", port, command, environment, cluster.data / "strict-store.log")
    server.launch()
    server.await_port()
    yield f"http://{server.address}"
    server.kill()


def test_refused_credentials_are_said_so_and_not_repeated(strict_store: str, small: Offloaded) -> None:
    secrets = (("access_key_id", "AKIDNOBODY"), ("secret_access_key", "NOTASECRET"))
    with pytest.raises(
        TieredStorageUnavailable, match=r"no permission to read the copy .*403 Forbidden"
    ) as failed:
        small.found(tiered_storage_options=(*secrets, ("endpoint", strict_store)))
    said = repr(failed.value) + str(failed.value.__cause__) + str(failed.value.__context__)
    assert not [secret for _, secret in secrets if secret in str(failed.value)], said
    assert failed.value.__cause__ is None
