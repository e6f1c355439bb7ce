"""A soak of a minute, from topics to a topic; `make soak` and `make soak-sink` are longer, and check each end
alone.

A writer never stops. Driver, executors, workers of Spark and of Python, broker and bookies are killed in
the middle of epochs. The broker freezes; tasks fail, and Spark runs some twice. Topics and partitions
appear. Ledgers end, move to tiered storage and are deleted after the reader has passed them. Every message
is in the sink once, and in order under its key. The query uses TLS, tokens and certificates, and has only
the permissions that docs/security.md lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.spark_cluster import SparkCluster, spark_cluster
from soak.schedule import HALF_HOUR
from soak.soaking import soak

SECONDS = 60.0


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


@pytest.fixture(scope="module")
def spark_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("spark"), workers=3) as running:
        yield running


def test_every_message_once_through_all_interruptions(
    cluster: PulsarCluster, spark_workers: SparkCluster, tmp_path: Path, seed: int
) -> None:
    report = soak(cluster, spark_workers, tmp_path, seed, SECONDS, _say, to_topic=True)
    _say(str(report))
    assert report.faults == []
    # `faults` compares the rows one by one.
    assert 0 < report.messages - report.uncertain <= report.rows <= report.messages
    assert report.uncertain < report.messages / 4
    # What was to be survived has happened.
    assert {kind for kind, times in report.events.items() if times} == set(HALF_HOUR)
    assert report.in_epoch > 0
    assert report.removed > 0
    assert report.offloaded > 0
    assert report.entries_read.keys() >= {"broker", "tiered"}
