"""For each topic partition of a query, where it goes on at this cluster. Driver only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError, ProtocolError, TopicNotFoundError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.pages import page
from pyspark_pulsar.read.bounds.driver_threads import DriverThreads
from pyspark_pulsar.read.bounds.subscription import parse_cursor
from pyspark_pulsar.read.bounds.timestamps import span_of_window
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import parse_ledgers
from pyspark_pulsar.tools.failover.entry_scan import EntryScan
from pyspark_pulsar.tools.failover.topic_log import Origin, TopicLog


@dataclass(frozen=True, slots=True)
class FormerCluster:
    """Where the query has read, and what is known of that."""

    name: str
    """As Pulsar calls it."""
    margin_ms: int
    """How long before the last message that was read one may be published that was not."""
    is_only_source: bool = False
    """Nothing was produced elsewhere before it was left."""
    read_since_ms: int | None = None
    """Unix milliseconds: all messages published before were read, wherever they were produced."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Of one topic partition."""

    partition: TopicPartition
    read_until: Position
    """In the former cluster."""
    position: Position
    """The next message to read in this one."""
    repeated: int
    """Entries behind that position of which the query may have read messages, at most."""
    is_bounded: bool
    """Whether an entry that was read is here. Else nothing tells whether retention has removed others behind it."""


def resume_points(
    options: ReadOptions, former: FormerCluster, read_until: Mapping[TopicPartition, Position]
) -> list[ResumePoint]:
    """Where to go on in each topic partition of `read_until`, which has the positions of the former cluster.

    `options` are of this cluster, with `admin.url`. Raises `OptionError` for a cluster of which this one knows nothing,
    `TopicNotFoundError`, `ProtocolError` where replicators do not tell positions, and the errors of the clients.
    """
    segments = [partition.name for partition in sorted(read_until) if partition.is_segment]
    if segments:
        raise OptionError(
            f"the query reads scalable topics: expected topics that are replicated, got segments, which Pulsar 5 does "
            f"not replicate: {', '.join(segments)}"
        )
    threads = DriverThreads(options, "pulsar-failover")
    try:
        with AdminClient.for_planning(options) as admin, BrokerClient.for_planning(options) as client:
            _check_cluster(admin, former.name)
            _check_present(client, read_until)

            def resumed(partition: TopicPartition) -> ResumePoint:
                return _resume_point(threads.client(), admin, former, partition, read_until[partition])

            return threads.map(resumed, sorted(read_until))
    finally:
        threads.close()


def _check_cluster(admin: AdminClient, name: str) -> None:
    known = admin.clusters.names()
    if name not in known:
        raise OptionError(
            f"cluster {name!r}: expected the name of the cluster that the query has read from, as it is known to "
            f"the one where it goes on, got none of {', '.join(known)}"
        )


def _check_present(client: BrokerClient, partitions: Iterable[TopicPartition]) -> None:
    counts = client.present_partitions({partition.topic for partition in partitions})
    missing = [
        partition.name
        for partition in sorted(partitions)
        if (count := counts.get(partition.topic)) is None or (partition.index >= max(count, 1))
    ]
    if missing:
        raise TopicNotFoundError(
            f"topic partitions that the query has read are not in the cluster where it goes on: {', '.join(missing)}; "
            f"are their namespaces replicated?"
        )


def _resume_point(
    client: BrokerClient,
    admin: AdminClient,
    former: FormerCluster,
    partition: TopicPartition,
    read_until: Position,
) -> ResumePoint:
    if read_until.is_earliest:
        return ResumePoint(partition, read_until, EARLIEST, 0, is_bounded=True)
    stats = admin.topics.internal_stats(partition)
    info = admin.topics.internal_info(partition)
    where = f"reading the ledgers of {partition}"
    known = parse_ledgers(info, stats, where)
    # That of a replicator, which is there where this cluster replicates to the former one.
    replicator = parse_cursor(stats, f"pulsar.repl.{former.name}", where)
    scan = EntryScan(client, partition)
    log = TopicLog(known.ledgers, scan.end(), scan.first)
    return Resumption(log, former, partition, read_until).point(replicator and replicator[0])


class Resumption:
    """Of one topic partition. Numbers are those of entries."""

    def __init__(
        self, log: TopicLog, former: FormerCluster, partition: TopicPartition, read_until: Position
    ) -> None:
        """`read_until`: in the former cluster."""
        self._log = log
        self._former = former
        self._partition = partition
        self._read_until = read_until
        self._read_entry = (read_until.ledger, read_until.entry)

    def point(self, replicated: Position | None) -> ResumePoint:
        """`replicated`: up to where entries that were produced here came to the former cluster, if anything says so."""
        read, unread = self._log.border(0, self._log.size, self._is_from_former, self._is_unread)
        starts = [] if unread is None else [self._unread_position(unread)]
        starts += [origin.position for origin in self._others(read, unread, replicated)]
        position = min(starts, default=self._log.end)
        if read is None and not self._former.is_only_source and self._former.read_since_ms is None:
            position = EARLIEST
        behind_read = 0 if read is None else self._log.number(read.position) + 1
        return ResumePoint(
            self._partition,
            self._read_until,
            position,
            max(0, behind_read - self._log.number(position)),
            is_bounded=read is not None,
        )

    def _others(
        self, read: Origin | None, unread: Origin | None, replicated: Position | None
    ) -> list[Origin]:
        """The first unread entries that did not come from the former cluster, for each reason that there is to think
        so."""
        high = self._log.size if unread is None else self._log.number(unread.position)
        low = 0 if read is None else self._log.number(read.position) + 1
        others = []
        if self._former.is_only_source:
            others.append(self._log.first(low, high, self._is_other))
        else:
            if replicated is not None:
                others.append(self._log.first(self._log.number(replicated), high, self._is_other))
            others.append(self._published_late(read, high))
        return [origin for origin in others if origin is not None]

    def _published_late(self, read: Origin | None, high: int) -> Origin | None:
        times = (self._former.read_since_ms, None if read is None else read.published_ms)
        since = max((time for time in times if time is not None), default=0) - self._former.margin_ms

        def is_late(origin: Origin) -> bool:
            return origin.published_ms is None or origin.published_ms >= since

        window = TimeWindow(published_from=since)
        begin, _ = span_of_window(self._log.ledgers, window, self._former.margin_ms)
        low = 0 if begin is None else self._log.number(begin)
        return self._log.border(low, high, self._is_other, is_late)[1]

    def _is_from_former(self, origin: Origin) -> bool:
        if origin.cluster != self._former.name:
            return False
        if origin.source is None:
            raise ProtocolError(
                f"{self._partition}: expected the position that the entry at {origin.position} has in cluster "
                f"{self._former.name}, got none; its replicators tell it with Pulsar 3.0.11, 3.3.6, 4.0.4 and "
                f"later. Start the query by time ({page('failover')})"
            )
        return True

    def _is_other(self, origin: Origin) -> bool:
        return origin.cluster != self._former.name

    def _is_unread(self, origin: Origin) -> bool:
        return origin.source is not None and origin.source >= self._read_entry

    def _unread_position(self, unread: Origin) -> Position:
        # Of the entry in which the query stands, some messages may be read.
        inside = self._read_until.batch_index if unread.source == self._read_entry else 0
        return Position(unread.position.ledger, unread.position.entry, inside)
