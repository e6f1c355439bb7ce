"""The contents of a query's sink, and their faults."""

from __future__ import annotations

import base64
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
from fixtures.cluster.access import PIPELINE
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.official import JavaClient

EPOCH = "epoch="
PATIENCE = {"pulsar.client.operationTimeoutMs": "120000"}
_READ_SECONDS = 600.0


@dataclass(frozen=True)
class Sent:
    """The sent messages: for each key, the numbers from 0 to `counts[key]` (exclusive), each once and in order.

    `uncertain` contains (key, number) of each message without a receipt. The topic may contain such a message.
    """

    counts: Mapping[str, int]
    uncertain: frozenset[tuple[str, int]] = field(default_factory=frozenset)

    @property
    def messages(self) -> int:
        return sum(self.counts.values())


def delivered(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield (key, number) of all rows, in the order in which the source returned them to Spark.

    The rows are ordered by epoch, then by split, and then in the order of the task.
    """
    for epoch in sorted(folder.glob(f"{EPOCH}*"), key=lambda each: int(each.name.removeprefix(EPOCH))):
        assert (epoch / "_SUCCESS").exists(), f"{epoch} was not written to its end"
        # Each task writes one file, and the numbers follow the splits.
        for part in sorted(epoch.glob("part-*.parquet")):
            rows = pq.read_table(part, columns=["key", "number"], partitioning=None)
            yield from zip(rows.column("key").to_pylist(), rows.column("number").to_pylist(), strict=True)


def connection(cluster: PulsarCluster) -> dict[str, str]:
    """Return the options of a source or sink, over TLS and with a token.

    The timeouts are long, because a killed broker restarts slowly, and more slowly on shared cores.
    """
    return cluster.access.options(PIPELINE) | PATIENCE


def sink_topic(partitions: list[str]) -> str:
    """Return the topic of these partitions."""
    return partitions[0].rpartition("-partition-")[0]


def written(cluster: PulsarCluster, topic: str) -> list[tuple[str, int]]:
    """Return (key, number) of all rows of a topic, as read by the official Java client."""
    job = {"do": "read", "topic": topic, "schema": "STRING"}
    return [_row(message) for message in JavaClient(cluster).run(job, seconds=_READ_SECONDS)[0]]


def _row(message: Mapping[str, str]) -> tuple[str, int]:
    return base64.b64decode(message["keyBytes"]).decode(), int(message["value"].split(" ", 1)[0])


def faults(rows: Iterable[tuple[str, int]], sent: Sent) -> list[str]:
    """List the faults of rows in the order of delivery: count, distinct numbers and order for each key.

    The list is empty if all sent messages are in the sink once, and in order.
    """
    by_key: dict[str, list[int]] = defaultdict(list)
    for key, number in rows:
        by_key[key].append(number)
    wrong: list[str] = []
    for key in sorted(by_key.keys() | sent.counts.keys()):
        unsure = {number for owner, number in sent.uncertain if owner == key}
        wrong += _faults_of_key(key, by_key.get(key, []), sent.counts.get(key, 0), unsure)
    return wrong


def _faults_of_key(key: str, numbers: list[int], count: int, unsure: set[int]) -> list[str]:
    distinct = set(numbers)
    certain = set(range(count)) - unsure
    wrong = []
    if missing := certain - distinct:
        wrong.append(f"{key}: {len(missing)} of {count} missing, first {min(missing)}")
    if strange := distinct - certain - unsure:
        wrong.append(f"{key}: {len(strange)} that were never sent, first {min(strange)}")
    if len(numbers) != len(distinct):
        repeated = next(number for number, times in Counter(numbers).items() if times > 1)
        wrong.append(f"{key}: {len(numbers) - len(distinct)} repeated, first {repeated}")
    firsts = list(dict.fromkeys(numbers))
    if behind := [late for early, late in pairwise(firsts) if late < early]:
        wrong.append(f"{key}: {len(behind)} out of order, first {behind[0]}")
    return wrong
