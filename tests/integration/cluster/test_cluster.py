"""The cluster itself: facts about the locations of ledgers on which the other tests rely."""

from __future__ import annotations

import pulsar as official_client
import pytest
from fixtures.cluster import object_store
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.official import messages_of


def fill(client: official_client.Client, topic: str, count: int) -> list[bytes]:
    values = [f"{topic} {number}".encode() for number in range(count)]
    producer = client.create_producer(topic)
    for value in values:
        producer.send_async(value, callback=lambda *_: None)
    producer.flush()
    producer.close()
    return values


@pytest.mark.parametrize("place", ["bucket", "folder"])
def test_offloaded_ledgers_leave_the_bookies_and_are_served_by_the_broker(
    place: str,
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    topic = f"persistent://{namespace}/t"
    if place == "bucket":
        cluster_admin.offload_to_bucket(namespace)
    else:
        cluster_admin.offload_to_folder(namespace)
    expected = []
    for _ in range(2):
        expected += fill(cluster_client, topic, 50)
        cluster_admin.roll(topic)
    moved = cluster_admin.offload(topic)
    assert len(moved) == 2
    for ledger, copy in cluster_admin.offload_ids(topic).items():
        if place == "bucket":
            assert object_store.stored_object(cluster.s3_endpoint, f"{copy}-ledger-{ledger}")
        else:
            folder = cluster.offload_folder / namespace / "persistent" / "t" / f"{ledger}-{copy}"
            assert (folder / "data").stat().st_size > 0
        cluster.await_deleted(ledger)
    assert [each.data() for each in messages_of(cluster_client, topic)] == expected


def test_a_bookie_that_dies_leaves_a_second_ensemble(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    topic = f"persistent://{namespace}/t"
    cluster_admin.set_ensemble(namespace, 2, 2)
    expected = fill(cluster_client, topic, 10)
    with cluster.without(cluster_admin.ensemble(topic)[0]):
        expected += fill(cluster_client, topic, 10)
    cluster_admin.roll(topic)
    assert [each.ensembles for each in cluster_admin.ledgers(topic)] == [2, 1]
    assert [each.data() for each in messages_of(cluster_client, topic)] == expected
