"""Checkpoints on a cluster: content that is in tiered storage alone, and bookies that die during a commit."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.checkpoint.store_process import Refused, StoreProcess
from integration.cluster.administration import TIERED_FIRST, ClusterAdmin
from integration.cluster.offloaded import KEYS

MIB = 1 << 20


@pytest.fixture
def owner(cluster: PulsarCluster) -> Iterator[StoreProcess]:
    with StoreProcess(**{"service.url": cluster.service_url}) as process:
        yield process


def test_content_is_read_from_tiered_storage(
    owner: StoreProcess,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    namespace: str,
    rng: random.Random,
) -> None:
    """State is stored in segments: closed ledgers of the content log are offloaded, and bookies delete them.

    Executors read them without the brokers. With `readFrom=tiered`, they use no other location, and
    missing content is an error.
    """
    place, topic = f"pulsar+checkpoint://{namespace}/c", f"persistent://{namespace}/c-content"
    cluster_admin.offload_to_bucket(namespace, read_first=TIERED_FIRST)
    owner.call("take_over", path=place, owner="q")
    bodies = {f"sst/{number}": rng.randbytes(rng.randrange(2, 6) * MIB + 3) for number in range(4)}
    for name, body in bodies.items():
        owner.upload(f"{place}/{name}", body, "q")
    cluster_admin.roll(topic)
    options = {
        "service.url": cluster.service_url,
        "admin.url": cluster.admin_url,
        "readFrom": "tiered",
        "tieredStorageOptions": KEYS if isinstance(KEYS, str) else json.dumps(dict(KEYS)),
    }
    with StoreProcess(**options) as early:
        name = f"{place}/sst/0"
        with pytest.raises(Refused, match="it is not offloaded") as refused:
            early.content(name)
        assert name in refused.value.message
    ledgers = cluster_admin.offload(topic)
    for ledger in ledgers:
        cluster.await_deleted(ledger)
    with StoreProcess(**options) as executor:
        for name, body in bodies.items():
            assert executor.content(f"{place}/{name}") == body
    # The broker reads them in tiered storage too, for readers that know only the broker.
    assert owner.content(f"{place}/sst/3") == bodies["sst/3"]


def test_a_bookie_is_killed_in_the_middle_of_commits(
    owner: StoreProcess,
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    namespace: str,
    rng: random.Random,
) -> None:
    """Each ledger is on two of three bookies; when one of them fails, the third bookie replaces it.

    Files, offsets and commits continue, each once, and all content is whole.
    """
    cluster_admin.set_ensemble(namespace, 2, 2)
    place = f"pulsar+checkpoint://{namespace}/c"
    owner.call("take_over", path=place, owner="q")
    victim = None
    bodies: dict[str, bytes] = {}
    try:
        for epoch in range(30):
            body = rng.randbytes(rng.randrange(3 * MIB))
            number = owner.call("upload_begin", path=f"{place}/sst/{epoch}", owner="q", mode="overwrite")
            for start in range(0, len(body), MIB):
                owner.call("upload_write", body[start : start + MIB], upload=number["upload"])
                if epoch == 10 and victim is None:
                    log = "index" if rng.random() < 0.5 else "content"
                    address = cluster_admin.ensemble(f"persistent://{namespace}/c-{log}")[0]
                    victim = next(each for each in cluster.bookies if each.address == address)
                    victim.kill()
            owner.call("upload_commit", upload=number["upload"])
            owner.put(f"{place}/commits/{epoch}", b"%d" % epoch, "q", "if_absent")
            bodies[f"sst/{epoch}"] = body
        with StoreProcess(**{"service.url": cluster.service_url}) as fresh:
            assert sorted(map(int, fresh.names(f"{place}/commits"))) == list(range(30))
            for name, body in bodies.items():
                assert fresh.content(f"{place}/{name}") == body
    finally:
        if victim is not None:
            victim.start()
            cluster.await_in_service(victim)
