"""The search for the positions at which the topic partitions of a query resume in this cluster.

The search runs on the driver only.
"""

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
class PreviousCluster:
    """The cluster in which the query has read.

    Attributes:
        name: The name of the cluster in Pulsar.
        margin_ms: Milliseconds that are subtracted from the publish time of the last read message. Messages that were
            published at or after the resulting time may be unread.
        is_only_source: Whether all messages were produced in the previous cluster, until the query left that cluster.
        read_since_ms: A time in Unix milliseconds. The query has read all messages that any cluster published before
            this time.

    """

    name: str
    margin_ms: int
    is_only_source: bool = False
    read_since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The position at which one topic partition resumes.

    Attributes:
        read_until: The next position in the previous cluster.
        position: The next position to read in this cluster.
        repeated: The largest number of entries that the query may read a second time, from `position` on.
        is_bounded: Whether this cluster still has an entry of the previous cluster that the query has read. Otherwise,
            retention may have removed unread entries.

    """

    partition: TopicPartition
    read_until: Position
    position: Position
    repeated: int
    is_bounded: bool


def resume_points(
    options: ReadOptions, previous: PreviousCluster, read_until: Mapping[TopicPartition, Position]
) -> list[ResumePoint]:
    """Return the position at which each topic partition resumes.

    Args:
        options: Options of this cluster, with `admin.url`.
        previous: The cluster in which the query has read.
        read_until: The next position of each topic partition in the previous cluster.

    Raises:
        OptionError: The name of the previous cluster is unknown in this cluster, or a topic is scalable.
        TopicNotFoundError: A topic partition is not in this cluster.
        ProtocolError: The replicators do not record positions.
        PulsarError: A request failed.

    """
    segments = [partition.name for partition in sorted(read_until) if partition.is_segment]
    if segments:
        raise OptionError(
            f"the query reads scalable topics: expected replicated topics, got segments, which Pulsar 5 does not "
            f"replicate: {', '.join(segments)}; start the query with a new checkpoint"
        )
    threads = DriverThreads(options, "pulsar-failover")
    try:
        with AdminClient.for_planning(options) as admin, BrokerClient.for_planning(options) as client:
            _check_cluster(admin, previous.name)
            _check_present(client, read_until)

            def resume(partition: TopicPartition) -> ResumePoint:
                return _resume_point(threads.client(), admin, previous, partition, read_until[partition])

            return threads.map(resume, sorted(read_until))
    finally:
        threads.close()


def _check_cluster(admin: AdminClient, name: str) -> None:
    known = admin.clusters.names()
    if name not in known:
        raise OptionError(
            f"previous cluster: expected one of the clusters that this cluster knows, {', '.join(known)}, got "
            f"{name!r}; correct the name in --from"
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
            f"this cluster lacks topic partitions of the query: {', '.join(missing)}; check that their namespaces are "
            f"replicated"
        )


def _resume_point(
    client: BrokerClient,
    admin: AdminClient,
    previous: PreviousCluster,
    partition: TopicPartition,
    read_until: Position,
) -> ResumePoint:
    if read_until.is_earliest:
        return ResumePoint(partition, read_until, EARLIEST, 0, is_bounded=True)
    stats = admin.topics.internal_stats(partition)
    info = admin.topics.internal_info(partition)
    where = f"reading the ledgers of {partition}"
    known = parse_ledgers(info, stats, where)
    # The replicator's cursor exists if this cluster replicates to the previous cluster.
    replicator = parse_cursor(stats, f"pulsar.repl.{previous.name}", where)
    scan = EntryScan(client, partition)
    log = TopicLog(known.ledgers, scan.end(), scan.first)
    return Resumption(log, previous, partition, read_until).point(replicator and replicator[0])


class Resumption:
    """The search for the position at which one topic partition resumes. Integers are entry numbers of `TopicLog`."""

    def __init__(
        self, log: TopicLog, previous: PreviousCluster, partition: TopicPartition, read_until: Position
    ) -> None:
        """Store the parts of the search. `read_until` is a position in the previous cluster."""
        self._log = log
        self._previous = previous
        self._partition = partition
        self._read_until = read_until
        self._read_entry = (read_until.ledger, read_until.entry)

    def point(self, replicated: Position | None) -> ResumePoint:
        """Return the position at which the topic partition resumes.

        Args:
            replicated: The position up to which entries of this cluster have arrived in the previous cluster; None if
                the position is unknown.

        """
        read, unread = self._log.border(0, self._log.size, self._is_from_previous, self._is_unread)
        starts = [] if unread is None else [self._unread_position(unread)]
        starts += [origin.position for origin in self._find_unread_others(read, unread, replicated)]
        position = min(starts, default=self._log.end)
        if read is None and not self._previous.is_only_source and self._previous.read_since_ms is None:
            position = EARLIEST
        read_end = 0 if read is None else self._log.number(read.position) + 1
        return ResumePoint(
            self._partition,
            self._read_until,
            position,
            max(0, read_end - self._log.number(position)),
            is_bounded=read is not None,
        )

    def _find_unread_others(
        self, read: Origin | None, unread: Origin | None, replicated: Position | None
    ) -> list[Origin]:
        """Return the first entries from other clusters that may be unread.

        If all messages were produced in the previous cluster, the result is the first entry after the last read entry.
        Otherwise, an entry may be unread for two reasons, and the result contains the first entry for each reason. The
        entry had not arrived in the previous cluster, or the entry was published late.
        """
        high = self._log.size if unread is None else self._log.number(unread.position)
        low = 0 if read is None else self._log.number(read.position) + 1
        others = []
        if self._previous.is_only_source:
            others.append(self._log.first(low, high, self._is_other))
        else:
            if replicated is not None:
                others.append(self._log.first(self._log.number(replicated), high, self._is_other))
            others.append(self._first_published_late(read, high))
        return [origin for origin in others if origin is not None]

    def _first_published_late(self, read: Origin | None, high: int) -> Origin | None:
        times = (self._previous.read_since_ms, None if read is None else read.published_ms)
        since = max((time for time in times if time is not None), default=0) - self._previous.margin_ms

        def is_late(origin: Origin) -> bool:
            return origin.published_ms is None or origin.published_ms >= since

        window = TimeWindow(published_from=since)
        begin, _ = span_of_window(self._log.ledgers, window, self._previous.margin_ms)
        low = 0 if begin is None else self._log.number(begin)
        return self._log.border(low, high, self._is_other, is_late)[1]

    def _is_from_previous(self, origin: Origin) -> bool:
        if origin.cluster != self._previous.name:
            return False
        if origin.source is None:
            raise ProtocolError(
                f"{self._partition}: expected the entry at {origin.position} to contain its position in cluster "
                f"{self._previous.name}, got none; start the query by time ({page('failover')}), because replicators "
                f"record positions only since Pulsar 3.0.11, 3.3.6 and 4.0.4"
            )
        return True

    def _is_other(self, origin: Origin) -> bool:
        return origin.cluster != self._previous.name

    def _is_unread(self, origin: Origin) -> bool:
        return origin.source is not None and origin.source >= self._read_entry

    def _unread_position(self, unread: Origin) -> Position:
        # The query may have stopped inside this batch, after some of the messages of the batch.
        inside = self._read_until.batch_index if unread.source == self._read_entry else 0
        return Position(unread.position.ledger, unread.position.entry, inside)
