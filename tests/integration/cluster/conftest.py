"""Shared fixtures of the tests on the cluster."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pulsar as official_client
import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster.administration import ClusterAdmin
from integration.cluster.everywhere import Builder, Everywhere
from integration.official import python_client

from pyspark_pulsar.client.bookkeeper.bookie_health import BOOKIE_HEALTH, BookieHealth
from pyspark_pulsar.read.planning.placement import bookies as bookies_module


@pytest.fixture(autouse=True)
def _patience_with_bookies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time for which a silent bookie is avoided.

    On a busy machine, a bookie is silent for a second now and then. Plans would avoid it for 30 s, also in
    later tests.
    """
    BOOKIE_HEALTH.__dict__.update(BookieHealth().__dict__)
    monkeypatch.setattr(bookies_module, "_MOST_WAIT_MS", 5_000)


@pytest.fixture(scope="session")
def cluster_admin(cluster: PulsarCluster) -> ClusterAdmin:
    return ClusterAdmin(cluster)


@pytest.fixture(scope="session")
def cluster_client(cluster: PulsarCluster) -> Iterator[official_client.Client]:
    """The official Python client of the cluster."""
    with python_client(cluster.service_url) as opened:
        yield opened


@pytest.fixture
def namespace(cluster_admin: ClusterAdmin) -> str:
    """A new namespace `tenant/name`, whose policies a test may change. Three bookies, two copies."""
    name = f"public/{uuid.uuid4().hex[:12]}"
    cluster_admin.create_namespace(name)
    return name


@pytest.fixture(scope="session")
def everywhere(
    cluster: PulsarCluster,
    cluster_admin: ClusterAdmin,
    cluster_client: official_client.Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Everywhere:
    """The topics in all locations, which tests must not change."""
    return Builder(cluster, cluster_admin, cluster_client, tmp_path_factory.mktemp("keys")).build()
