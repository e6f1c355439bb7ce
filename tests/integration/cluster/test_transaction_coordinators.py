"""Several transaction coordinators, as in any cluster; a standalone server has one.

The name puts this file after the tests that share topics: a broker that crashes closes their open ledgers.
"""

from __future__ import annotations

import uuid

import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin

from pyspark_pulsar.client.broker import transaction_coordinator as coordinator_module
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions

COORDINATORS = "persistent://pulsar/system/transaction_coordinator_assign"


@pytest.mark.parametrize("restarts", [False, True], ids=["moved", "after a crash"])
def test_each_transaction_is_ended_by_the_coordinator_that_began_it(
    cluster: PulsarCluster, monkeypatch: pytest.MonkeyPatch, restarts: bool
) -> None:
    """The broker unloads each coordinator, and loads it again when a client connects to it."""
    admin = ClusterAdmin(cluster)
    topic = f"persistent://public/default/coordinators-{uuid.uuid4().hex[:12]}"
    admin.create(topic)
    options = WriteOptions(service_url=cluster.service_url, topic=topic)
    with BrokerClient(options) as client:
        count = client.partition_count(TopicName.parse(COORDINATORS))
        assert count > 1
        numbers = iter(range(count))
        monkeypatch.setattr(coordinator_module.random, "randrange", lambda _: next(numbers))
        coordinators = Coordinators(client)
        begun = [coordinators.begin(600_000) for _ in range(count)]
    if restarts:
        cluster.broker.kill()
        cluster.broker.launch()
        cluster.await_healthy()
    else:
        admin.unload_namespace("pulsar/system")
    with BrokerClient(options) as client:
        coordinators = Coordinators(client)
        coordinators.require_open(begun, topic)
        assert coordinators.commit_all(begun) == []
        assert coordinators.commit_all(begun) == begun
