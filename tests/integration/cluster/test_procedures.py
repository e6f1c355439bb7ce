"""CALL of offload, on a cluster with tiered storage."""

from __future__ import annotations

from typing import Any

import pulsar as official_client
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.offloaded import send
from integration.official import await_true

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.procedures.procedure_calls import call_procedure, follow_procedure
from pyspark_pulsar.catalog.settings import parse_settings


def test_offload_moves_closed_ledgers_and_is_followed_to_its_end(
    namespace: str,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
) -> None:
    topic = f"persistent://{namespace}/moved"
    cluster_admin.offload_to_bucket(namespace, keep_on_bookies=True)
    for part in range(3):
        send(cluster_client, topic, [b"value %d " % part * 20 for _ in range(10)])
        cluster_admin.roll(topic)
    settings = parse_settings("pulsar", {"service.url": cluster.service_url, "admin.url": cluster.admin_url})
    with Cluster(settings) as asked:

        def offload(**arguments: Any) -> dict[str, Any]:
            where = namespace.split("/")
            return call_procedure(
                asked, "offload", where, "moved", {"keep_bytes": 0, "wait": True, **arguments}
            )

        assert offload(keep_bytes=1 << 40)["rows"] == [[-1, None, "NOT_RUN", None]]
        answer = offload()

        def over() -> bool:
            nonlocal answer
            if "follow" in answer:
                answer = follow_procedure(asked, **answer["follow"])
            return "follow" not in answer

        await_true("offloading", over)
        ((partition, up_to, status, error),) = answer["rows"]
        assert (partition, status, error) == (-1, "SUCCESS", None)
        moved = cluster_admin.offload_ids(topic)
        assert len(moved) == 3
        assert all(ledger < int(up_to.split(":")[0]) for ledger in moved)
        # All that is closed has been moved.
        assert offload()["rows"] == [[-1, None, "NOT_RUN", None]]
