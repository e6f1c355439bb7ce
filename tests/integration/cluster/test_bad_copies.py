"""Incomplete copies in tiered storage, read with `readFrom=auto`.

The entries are read from the bookies, as long as they hold the ledger. Otherwise, they are read from the
broker, which may have only the same copy. Brokers read tiered storage first here, which is Pulsar's
default.
"""

from __future__ import annotations

import logging
import time

import obstore
import pulsar as official_client
import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import TIERED_FIRST, ClusterAdmin
from integration.cluster.offloaded import DAMAGES, Offloaded, send
from integration.cluster.ranges import Row, cluster_options, planned, rows_by_partition

from pyspark_pulsar.errors import DeadlineExceeded, PulsarError
from pyspark_pulsar.read.split import Split

PATIENCE_SECONDS = 6
"""The timeout for entries that no location can return."""
_MOST_SECONDS = 60
_HEADER = "a flipped bit in the header"


class Damaged:
    """A topic with one closed ledger of 10 entries in the bucket, maybe on bookies as well, and an open
    ledger.

    The open ledger has one message; `rows` are the rows of the topic.
    """

    def __init__(
        self, cluster: PulsarCluster, admin: ClusterAdmin, client: official_client.Client, topic: str
    ) -> None:
        send(client, topic, [b"value %d " % number * 20 for number in range(10)])
        admin.roll(topic)
        send(client, topic, [b"in the open ledger"])
        self.options = cluster_options(cluster, topic, readFrom="auto")
        self.rows = rows_by_partition(self.options)[topic]
        self.stored = Offloaded(cluster, admin, topic)
        ((self.ledger, self.key),) = self.stored.objects.items()
        self._admin = admin

    def damage(self, kind: str) -> None:
        """Damage the copy, and let the broker forget what it has read of it."""
        DAMAGES[kind][0](self.stored, self.key)
        self._admin.unload(self.stored.topic)

    def read(self, splits: list[Split] | None = None) -> list[Row]:
        return rows_by_partition(self.options, splits)[self.stored.topic]

    def outcome(self, splits: list[Split]) -> list[Row] | PulsarError:
        try:
            return self.read(splits)
        except PulsarError as fault:
            return fault


def places(splits: list[Split]) -> list[str]:
    return [split_range.location.name for split in splits for split_range in split.ranges]


@pytest.mark.parametrize("kind", DAMAGES)
def test_bookies_that_still_hold_the_ledger_are_read(
    kind: str,
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The read succeeds whether the damage is found when it is planned, or by the task."""
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True, read_first=TIERED_FIRST)
    topic = Damaged(cluster, cluster_admin, cluster_client, f"persistent://{namespace}/t")
    splits = planned(topic.options)
    assert places(splits) == ["tiered", "broker"]
    topic.damage(kind)
    with caplog.at_level(logging.WARNING):
        assert topic.read(splits) == topic.rows
        assert topic.read() == topic.rows
    assert "rest of a range from bookies" in caplog.text
    assert "rest of a range from the broker" not in caplog.text
    seen_by_index = kind in {"no index", "no data", "short data", "a flipped bit in the index"}
    assert places(planned(topic.options))[0] == ("bookie" if seen_by_index else "tiered")


@pytest.mark.parametrize("kind", DAMAGES)
def test_an_entry_without_a_whole_copy_is_an_error_in_time(
    kind: str,
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    cluster_admin.offload_to_bucket(namespace, read_first=TIERED_FIRST)
    topic = Damaged(cluster, cluster_admin, cluster_client, f"persistent://{namespace}/t")
    cluster.await_deleted(topic.ledger)
    splits = planned(topic.options)
    topic.damage(kind)
    if kind != _HEADER:
        topic.options["pollTimeoutMs"] = str(PATIENCE_SECONDS * 1000)
    for given in (splits, planned(topic.options)):
        began = time.monotonic()
        found = topic.outcome(given)
        assert time.monotonic() - began < _MOST_SECONDS
        if kind == _HEADER:
            # Brokers do not check it.
            assert found == topic.rows
            continue
        assert isinstance(found, PulsarError)
        assert topic.stored.topic in str(found)
        assert str(topic.ledger) in str(found)
        if places(given)[0] == "tiered" and isinstance(found, DeadlineExceeded):
            assert DAMAGES[kind][1] in str(found)


def test_a_bookie_with_an_unknown_address_gets_no_request(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The bookie may be anywhere in the cluster, and has none of this ledger's entries."""
    named = cluster.new_bookie("bookie-unknown", bookieId="nobody-knows-where")
    cluster_admin.set_ensemble(namespace, 3, 3)
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True, read_first=TIERED_FIRST)
    topic = Damaged(cluster, cluster_admin, cluster_client, f"persistent://{namespace}/t")
    splits = planned(topic.options)
    topic.damage("no data")
    try:
        # The bookie is stopped now, so that it has none of the topic's ledgers.
        named.start()
        cluster.await_in_service(named, "nobody-knows-where")
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert topic.read(splits) == topic.rows
            assert topic.read() == topic.rows
        assert "rest of a range from bookies" in caplog.text
        assert "rest of a range from the broker" not in caplog.text
    finally:
        named.stop()


def test_bookies_that_have_deleted_the_ledger_meanwhile(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The broker reads a copy that the query cannot: its credentials are wrong."""
    cluster_admin.offload_to_bucket(namespace, read_first=TIERED_FIRST)
    topic = Damaged(cluster, cluster_admin, cluster_client, f"persistent://{namespace}/t")
    cluster.await_deleted(topic.ledger)
    options = {**topic.options, "tieredStorageUrl": "s3://nobodys"}
    with caplog.at_level(logging.WARNING):
        splits = planned(options)
        assert places(splits) == ["broker"]
        assert rows_by_partition(options, splits)[topic.stored.topic] == topic.rows
    assert "not read from tiered storage" in caplog.text


def test_a_copy_that_is_deleted_and_offloaded_again(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    """A copy that was damaged and is whole again is read from tiered storage again."""
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True, read_first=TIERED_FIRST)
    topic = Damaged(cluster, cluster_admin, cluster_client, f"persistent://{namespace}/t")
    found = obstore.get(topic.stored.bucket, topic.key)
    attributes, whole = found.attributes, found.bytes().to_bytes()
    topic.damage("no data")
    assert places(planned(topic.options)) == ["bookie", "bookie"]
    obstore.put(topic.stored.bucket, topic.key, whole, attributes=attributes)
    assert places(planned(topic.options)) == ["tiered", "bookie"]
    assert topic.read() == topic.rows
