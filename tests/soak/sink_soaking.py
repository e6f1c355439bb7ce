"""A soak of the sink: a query from topic to topic is killed repeatedly while a writer sends without a stop.

At the end, the official Java client must read each row once, with the rows of each key in order.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.spark_cluster import SparkCluster
from integration.cluster.administration import ClusterAdmin
from soak.chaos import Chaos
from soak.query import Query
from soak.schedule import FREEZE_BROKER, KILL_BROKER, KILL_DRIVER, KILL_EXECUTOR, KILL_WORKER, Event
from soak.sink import connection, faults, sink_topic, written
from soak.topics import Topics
from soak.writer import Writer

# Shares of the interruptions; all others are kills of the driver.
_SHARES: Final[Mapping[str, float]] = {
    KILL_WORKER: 0.2,
    KILL_EXECUTOR: 0.1,
    KILL_BROKER: 0.1,
    FREEZE_BROKER: 0.1,
}
_FIRST_ROWS_SECONDS: Final = 300.0
_RECEIPTS_SECONDS: Final = 300.0
_CATCH_UP_SECONDS: Final = 600.0


@dataclass
class SinkReport:
    """The counts of a soak. `faults` contains all faults of the rows."""

    seed: int
    guarantee: str
    interruptions: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    messages: int = 0
    rows: int = 0
    epochs: int = 0
    failures: list[str] = field(default_factory=list)
    """The errors of the query's runs that ended without a kill. The query must resume when it is started again."""
    faults: list[str] = field(default_factory=list)


def sink_soak(
    cluster: PulsarCluster,
    spark: SparkCluster,
    folder: Path,
    seed: int,
    kills: int,
    guarantee: str,
    say: Callable[[str], None],
) -> SinkReport:
    """Run the soak, with about ten seconds for each of `kills`. All servers of the cluster run at the end."""
    topics = Topics(ClusterAdmin(cluster), f"public/sink-{seed}-{time.time_ns():x}")
    source, sink = (topics.add(partitions) for partitions in (2, 3))
    setting = {
        "source": connection(cluster) | {"topic": sink_topic(source), "startingOffsets": "earliest"},
        "sink": connection(cluster) | {"topic": sink_topic(sink), "deliveryGuarantee": guarantee},
        "master": spark.url,
        "trouble": seed,
    }
    query = Query(folder, "stream_to_topic.py", json.dumps(setting), cluster=spark)
    chaos = Chaos(cluster, topics, spark.workers, Writer(cluster.service_url), query)
    chaos.writer.add(source)
    try:
        run = _Run(chaos, SinkReport(seed, guarantee), say)
        run.interrupt(kills)
        return run.compare(cluster, sink_topic(sink))
    finally:
        query.kill()
        chaos.mend()


class _Run:
    def __init__(self, chaos: Chaos, report: SinkReport, say: Callable[[str], None]) -> None:
        self._chaos = chaos
        self._report = report
        self._say = say
        self._begin = time.monotonic()

    def interrupt(self, kills: int) -> None:
        """Run the kills in random order. Each kill waits until its target exists."""
        chance = random.Random(self._report.seed)
        happened: Counter[str] = Counter()
        kinds = [kind for kind, share in _SHARES.items() for _ in range(max(1, round(kills * share)))]
        kinds += [KILL_DRIVER] * (kills - len(kinds))
        chance.shuffle(kinds)
        self._chaos.writer.start()
        self._chaos.query.start()
        self._chaos.query.await_commits(1, _FIRST_ROWS_SECONDS)
        for kind in kinds:
            self._go_on_after_failure()
            time.sleep(chance.uniform(0.0, 1.0))
            event = Event(0.0, kind, chance.getrandbits(32))
            happened[kind] += self._chaos.happen(event)
            self._report_event(kind)
        self._report.interruptions = dict(happened)

    def compare(self, cluster: PulsarCluster, topic: str) -> SinkReport:
        """Let the query read all sent messages, and check its output."""
        chaos, report = self._chaos, self._report
        chaos.query.kill()
        chaos.mend()
        sent = chaos.writer.finish(_RECEIPTS_SECONDS)
        failed = chaos.query.read_what_is_there(_CATCH_UP_SECONDS)
        report.faults += [failed] if failed else []
        rows = written(cluster, topic)
        report.faults += faults(rows, sent)
        report.messages, report.rows = sent.messages, len(rows)
        report.epochs = chaos.query.committed()
        report.seconds = round(time.monotonic() - self._begin, 1)
        return report

    def _go_on_after_failure(self) -> None:
        query = self._chaos.query
        if not query.has_ended:
            return
        self._report.failures.append(query.end_of_log())
        self._report_event("the query has failed, and is started again")
        query.kill()
        query.start()

    def _report_event(self, what: str) -> None:
        query, writer = self._chaos.query, self._chaos.writer
        self._say(
            f"{time.monotonic() - self._begin:7.1f} s  {what}; {writer.receipts} receipts, "
            f"{query.committed()} epochs"
        )
