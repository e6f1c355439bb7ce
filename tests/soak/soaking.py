"""A soak: a query is interrupted repeatedly while a writer sends, and must deliver every message once.

By default, the query writes one folder of files for each epoch, which shows the order of the source's rows. With
`to_topic`, the query writes exactly once to another topic, which the official Java client reads at the end. The soak
then tests the source and the sink together.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from fixtures.cluster import object_store
from fixtures.cluster.access import PIPELINE
from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.spark_cluster import SparkCluster
from integration.cluster.administration import ClusterAdmin
from soak.chaos import Chaos
from soak.checkpoint import Checkpoint, InFolder, InPulsar
from soak.query import Query
from soak.schedule import INTERRUPTIONS, Event, schedule
from soak.sink import PATIENCE, Sent, connection, delivered, faults, sink_topic, written
from soak.topics import Topics
from soak.writer import Writer

from pyspark_pulsar.read.task.audit_files import audit_files
from pyspark_pulsar.session.configure import session_conf

_FIRST_ROWS_SECONDS: Final = 300.0
_RECEIPTS_SECONDS: Final = 300.0
_CATCH_UP_SECONDS: Final = 900.0
_LOOK_SECONDS: Final = 0.2
_ROWS: Final = "rows"


@dataclass(frozen=True)
class Report:
    """The counts of a soak. `faults` contains all faults, and is empty after a successful soak."""

    seed: int
    seconds: float
    events: dict[str, int]
    """The number of events by kind. An event that found no target is not counted."""
    interruptions: int
    in_epoch: int
    """The number of interruptions that occurred while a micro-batch was known to be running."""
    topic_partitions: int
    messages: int
    uncertain: int
    """The number of `messages` without a receipt, which may be in the topic or not."""
    rows: int
    epochs: int
    ledgers: int
    """The number of ledgers with entries.

    `offloaded` of these ledgers moved to tiered storage. `removed` of these ledgers were removed after the query read
    them.
    """
    offloaded: int
    removed: int
    entries_read: dict[str, int]
    """The number of entries that each reader read. Interrupted reads are repeated, so entries can be read twice."""
    faults: list[str]


def soak(
    cluster: PulsarCluster,
    spark: SparkCluster,
    folder: Path,
    seed: int,
    seconds: float,
    say: Callable[[str], None],
    *,
    to_topic: bool = False,
    in_pulsar: bool = False,
) -> Report:
    """Run a soak of `seconds`, plus about a minute before and after it. All servers of the cluster run at the end.

    `in_pulsar` stores the query's checkpoint in Pulsar.
    """
    admin = ClusterAdmin(cluster)
    topics = Topics(admin, f"public/soak-{seed}-{time.time_ns():x}")
    setting = {"source": _options(cluster, topics, folder), "master": spark.url, "trouble": seed}
    checkpoint: Checkpoint = InFolder(folder / "checkpoint")
    if in_pulsar:
        location = f"pulsar+checkpoint://public/default/soak-{seed}-{time.time_ns():x}"
        checkpoint = InPulsar(cluster.service_url, location)
        setting["conf"] = session_conf(cluster.service_url, checkpoints="rocksdb")
    if to_topic:
        sink = sink_topic(Topics(admin, f"{topics.namespace}-sink").add(3))
        setting["transform"] = True
        setting["sink"] = connection(cluster) | {"topic": sink, "deliveryGuarantee": "exactly-once"}
        query = Query(folder, "stream_to_topic.py", json.dumps(setting), cluster=spark, checkpoint=checkpoint)
        rows: Callable[[], Iterable[tuple[str, int]]] = partial(written, cluster, sink)
    else:
        arguments = (str(folder / _ROWS), json.dumps(setting))
        query = Query(folder, "stream_to_epochs.py", *arguments, cluster=spark, checkpoint=checkpoint)
        rows = partial(delivered, folder / _ROWS)
    chaos = Chaos(cluster, topics, spark.workers, Writer(cluster.service_url), query)
    try:
        return _Run(chaos, seed, seconds, say).run(folder, rows)
    finally:
        query.kill()
        chaos.mend()


def _options(cluster: PulsarCluster, topics: Topics, folder: Path) -> dict[str, str]:
    store = {"access_key_id": object_store.ACCESS_KEY, "secret_access_key": object_store.SECRET_KEY}
    # The role may not read the offload policy.
    store |= {"endpoint": cluster.s3_endpoint, "region": "us-east-1"}
    return {
        **cluster.access.reading_options(PIPELINE),
        **PATIENCE,
        "topicsPattern": topics.pattern,
        "startingOffsets": "earliest",
        "columns": "value,__key",
        "tieredStorageUrl": f"s3://{object_store.BUCKET}",
        "tieredStorageOptions": json.dumps(store),
        "auditPath": str(folder / "audit"),
    }


class _Run:
    def __init__(self, chaos: Chaos, seed: int, seconds: float, say: Callable[[str], None]) -> None:
        self._chaos = chaos
        self._seed = seed
        self._seconds = seconds
        self._say = say
        self._begin = time.monotonic()
        self._events: Counter[str] = Counter()
        self._faults: list[str] = []

    def run(self, folder: Path, sink_rows: Callable[[], Iterable[tuple[str, int]]]) -> Report:
        chaos = self._chaos
        for partitions in (2, 0):
            chaos.writer.add(chaos.topics.add(partitions))
        chaos.writer.start()
        chaos.query.start()
        self._until(self._begin + _FIRST_ROWS_SECONDS, lambda: chaos.query.committed() > 0)
        assert chaos.query.committed() > 0, f"no first micro-batch: {chaos.query.end_of_log()}"
        self._let_events_happen()
        self._report_event("the last event has happened")
        self._notice_end()
        chaos.query.kill()
        chaos.mend()
        sent = chaos.writer.finish(_RECEIPTS_SECONDS)
        self._report_event(
            f"{sent.messages} messages sent, {len(sent.uncertain)} of them without receipt; catching up"
        )
        failed = chaos.query.read_what_is_there(_CATCH_UP_SECONDS)
        rows = list(sink_rows())
        self._faults += [failed] if failed else []
        self._faults += faults(rows, sent)
        return self._report(sent, len(rows), _entries_by_reader(folder / "audit"))

    def _let_events_happen(self) -> None:
        begin = time.monotonic()
        events = schedule(self._seed, self._seconds)
        for event in events:
            self._until(begin + event.at)
            self._notice_end()
            self._happen(event)
        self._until(begin + self._seconds)
        # On a busy machine, some kinds of event may have had no target yet.
        for event in events:
            if not self._events[event.kind]:
                self._notice_end()
                self._chaos.query.await_commits(1, _FIRST_ROWS_SECONDS)
                self._happen(event)

    def _happen(self, event: Event) -> None:
        since = time.monotonic()
        happened = self._chaos.happen(event)
        self._events[event.kind] += happened
        took = time.monotonic() - since
        self._report_event(f"{event.kind if happened else f'not: {event.kind}'} ({took:.1f} s)")

    def _until(self, moment: float, reached: Callable[[], bool] = lambda: False) -> None:
        while time.monotonic() < moment and not reached():
            self._notice_end()
            time.sleep(_LOOK_SECONDS)

    def _notice_end(self) -> None:
        """Start the query again if the query has ended without a kill. Such an end counts as a fault.

        A start that failed because the broker was unreachable is no fault (docs/failures.md).
        """
        query = self._chaos.query
        if not query.has_ended:
            return
        text = query.end_of_log()
        if not query.has_started and ("ConnectionFailed" in text or "DeadlineExceeded" in text):
            self._report_event("the query began while the broker was away")
        else:
            self._faults.append(f"the query failed: {text}")
            self._report_event("THE QUERY FAILED")
        query.kill()
        query.start()

    def _report_event(self, what: str) -> None:
        query, writer = self._chaos.query, self._chaos.writer
        self._say(
            f"{time.monotonic() - self._begin:7.1f} s  {what}; {writer.receipts} receipts, "
            f"{query.committed()} micro-batches"
        )

    def _report(self, sent: Sent, rows: int, entries: dict[str, int]) -> Report:
        topics = self._chaos.topics
        removed = topics.removed()
        return Report(
            seed=self._seed,
            seconds=self._seconds,
            events=dict(self._events),
            interruptions=sum(self._events[kind] for kind in INTERRUPTIONS),
            in_epoch=self._chaos.query.interrupted_epochs,
            topic_partitions=len(topics.partitions),
            messages=sent.messages,
            uncertain=len(sent.uncertain),
            rows=rows,
            epochs=self._chaos.query.committed(),
            ledgers=sum(map(len, topics.seen.values())),
            offloaded=sum(map(len, topics.offloaded.values())),
            removed=removed,
            entries_read=entries,
            faults=self._faults,
        )


def _entries_by_reader(path: Path) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for file in audit_files(str(path)):
        for part in file.parts:
            counts[part.reader] += part.entries
    return dict(counts)
