"""The log end of each topic partition, and the entries that were removed before they were read.

The driver uses log ends once for a batch, and at every trigger of a stream. Executors use log ends to make a broker
load a topic.

Brokers report the last message id only to consumers. So each topic partition has one idle consumer. The consumer's
subscription has a random name, is not durable, and has no permits. All consumers of a broker share a connection. All
requests of a trigger are sent before the first answer is awaited.

    word       meaning
    present    a topic partition that exists on a broker
    log end    a broker's answer about a partition (`LogEnd`): the end E and the mark-delete position M
    end        E, the position after the last message that consumers can see; `earliest` if they can see none
    stored     an entry in the topic's ledgers, whether or not consumers can see it
    hidden     a topic partition with stored entries that may be messages, although its end is `earliest`
    start      S, the query's position: the position of the next message that the query reads

    state of a partition   what happens                                     next state
    none, or closed        subscribe at the start S                         open
    open                   GetLastMessageId: the end E, the mark-delete M   open
    open                   acknowledge cumulatively up to S                 open, S is acknowledged
    open                   the broker closes the consumer, or the topic     closed
                           moves to another broker
    any                    the broker answers that no such topic exists     closed, the topic is deleted
    any                    the query no longer reads the partition          closed

The consumer's cursor starts at S, and follows the query by acknowledging. Here, M is the first position that is not
acknowledged. E and M arrive in the same answer. So a trigger learns which entries were removed without another request,
and without any permission except the permission to consume.

Brokers treat a cursor as follows (`tests/integration/source/test_removed_ledgers.py` checks this):

1. A cursor moves only forward: by acknowledging, by an expiry or a skip on request, or by trimming.
2. Trimming removes whole ledgers, the oldest first. A cursor in a removed ledger moves to the existing entries. A
   cursor at the end of that ledger moves to entry 0 of the next ledger. A cursor before other entries of that ledger
   moves after these entries.
3. A new cursor at a position that was removed moves to the next existing position.

So an answer M has the following meaning for the range that begins at S:

    M                                       conclusion
    M <= S                                  all entries from S on exist (1, 2): proved up to S
    M = (a later ledger, entry 0), from a   the ledger of S ended at S and was trimmed (2); it had no unread entry:
      consumer that proved S itself         proved up to M
    M <= the proved position for S          nothing was removed
    M after the proved position             in doubt: trimmed unread, or only skipped on request (1)

If in doubt, a new consumer is put at S. If its M is not after the proved position, only the old cursor had been moved,
and nothing was removed (3). Otherwise the entries between S and M were removed (`RemovedEntries`). The number of
removed entries is known if the earlier M is in the ledger of S (2). Otherwise that ledger no longer exists, and no
broker can report where it ended (`is_unclear`). The planner's earlier lists of ledgers may still contain the ledger.

A proof stays true after its consumer is closed, because entries after S can be removed only by moving M past the proof.
A proof can be used only for the same S. A position inside a batched entry is treated as the position of the entry,
because cursors do not distinguish the messages of an entry. For a compacted view there is no such proof, because
compaction removes entries that no reader misses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import has_open_transaction
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import LogEnd
from pyspark_pulsar.errors import MessagesHidden, TopicNotFoundError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.cursor_requests import FIRST, Answers, CursorRequests, Positions, new_cursors
from pyspark_pulsar.read.unseen_entries import Span, pass_unseen
from pyspark_pulsar.runtime import time

FRESH_SECONDS = 2.0
"""Maximum age in seconds of an answer that nothing was removed.

The ledgers of a plan are listed after such an answer. Before a plan, a trigger with limits may count messages for
minutes. A trigger of `Trigger.AvailableNow` does not request log ends."""

_PASS_SECONDS = 2.0
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RemovedEntries:
    """The entries of a range that retention or a truncation removed."""

    first_left: Position | None
    """The first existing position; None if the topic is deleted."""
    entries: int | None
    """Minimum number of entries that were removed after the start of the range; None if the number is unknown."""

    @property
    def is_unclear(self) -> bool:
        """True if the ledger of the start was removed, so that no broker can report where the ledger ended."""
        return self.first_left is not None and self.entries is None


class LogEnds:
    """The log ends of the topic partitions of one query, and the proofs from them. Used by one thread.

    `close` closes the consumers immediately. Without `close`, the consumers are closed together with the client.
    """

    def __init__(
        self,
        client: BrokerClient,
        admin: AdminClient | None = None,
        *,
        read_compacted: bool = False,
        starts_at_first: bool = False,
    ) -> None:
        """Store the arguments. Requests open the connections.

        Args:
            client: The connections to brokers. The caller closes the client.
            admin: A client that distinguishes an open transaction from a broker that hides messages. The caller closes
                it.
            read_compacted: Whether the ends are the ends of the compacted views.
            starts_at_first: Whether a cursor without a start is put at the first entry, instead of at the end.

        """
        self._client = client
        self._admin = admin
        self._read_compacted = read_compacted
        self._starts_at_first = starts_at_first and not read_compacted
        self._requests = CursorRequests(
            client, read_compacted=read_compacted, starts_at_first=self._starts_at_first
        )
        self._cursors = self._requests.cursors

    def ends(
        self, partitions: Iterable[TopicPartition], *, is_repeated: bool = False
    ) -> dict[TopicPartition, Position]:
        """Return the end of each partition, and close the consumers of all other partitions.

        Args:
            partitions: The topic partitions, which must all exist.
            is_repeated: Whether the query requests the ends again later, and then reads messages that are hidden now.
                If so, an end of `earliest` is accepted without another request.

        Raises:
            TopicNotFoundError, PermissionDenied, ConnectionFailed: A broker refused a request, or did not answer.
            MessagesHidden: Brokers do not show whether a topic partition is empty.

        """
        partitions = list(partitions)
        answers = self._follow(partitions, {})
        for fault in answers.deleted.values():
            raise fault
        return self._visible_ends(answers.log_ends, is_repeated=is_repeated)

    def firsts(self) -> dict[TopicPartition, Position]:
        """Return the start of each partition's first existing ledger, at the time when the log end was last reported.

        Partitions whose first ledger is unknown are absent. Without `starts_at_first`, the result is empty.
        """
        if not self._starts_at_first:
            return {}
        return {
            partition: cursor.mark_delete
            for partition, cursor in self._cursors.items()
            if cursor.log_end is not None and not cursor.mark_delete.is_earliest
        }

    def present_ends(
        self, partitions: Iterable[TopicPartition], starts: Positions, *, is_repeated: bool = False
    ) -> Positions:
        """Return the ends of the existing partitions, as `ends` does. `starts` contains the query's positions."""
        return self._visible_ends(self._follow(list(partitions), starts).log_ends, is_repeated=is_repeated)

    def removed(self, starts: Positions, *, anew: bool = False) -> dict[TopicPartition, RemovedEntries]:
        """Return the entries that were removed after the starts of ranges.

        For compacted views, only deleted topics are found. The log end is requested again if the consumer is closed, or
        if the last answer is older than `FRESH_SECONDS`. With `anew`, the log end is always requested again. If an
        answer leaves doubt, the log end is requested from a new consumer at the start.
        """
        missing = {partition for partition in starts if not self._cursors[partition].is_open}
        fresh_since = math.inf if anew else time.monotonic() - FRESH_SECONDS
        requested = [partition for partition in starts if not self._cursors[partition].is_fresh(fresh_since)]
        deleted = self._requests.request_all(requested, starts).deleted
        if not self._read_compacted:
            for partition in requested:
                if partition not in deleted:
                    self._cursors[partition].prove(starts[partition])
        # The existence of an earlier ledger does not prove that the ledger of the start exists.
        elsewhere = starts.keys() - missing if self._starts_at_first else set()
        doubtful = {
            partition: self._cursors[partition].mark_delete
            for partition, start in starts.items()
            if partition not in deleted and (partition in elsewhere or self._is_in_doubt(partition, start))
        }
        self._requests.close_all(doubtful)
        deleted |= self._requests.request_all(list(doubtful), starts).deleted
        removed = {
            partition: RemovedEntries(
                self._cursors[partition].mark_delete, _removed_entries(starts[partition], earlier_mark_delete)
            )
            for partition, earlier_mark_delete in doubtful.items()
            if partition not in deleted and self._is_in_doubt(partition, starts[partition])
        }
        return removed | dict.fromkeys(deleted, RemovedEntries(None, None))

    def proved(self, starts: Positions) -> dict[TopicPartition, Position]:
        """Return the proved position of each partition whose cursor was moved away from its start.

        Up to the proved position, no entry was removed unread.
        """
        return {
            partition: upto
            for partition, start in starts.items()
            if partition in self._cursors and (upto := self._cursors[partition].proved(start)) is not None
        }

    def first_left(self, starts: Positions) -> dict[TopicPartition, Position]:
        """Return the start of each partition's first existing ledger, if only completely read ledgers were removed.

        Partitions that may have lost unread entries are absent. Brokers leave a cursor at the end of a removed ledger
        until another entry is stored.
        """
        firsts = new_cursors(self._client, dict.fromkeys(starts, FIRST))
        gone = [
            partition
            for partition, first in firsts.items()
            if first.entry == 0 and first.ledger > starts[partition].ledger
        ]
        # This request is sent after the request for `firsts`. So a cursor that is still at its start proves that no
        # entry was removed.
        present = self._requests.request_all(gone, starts).log_ends
        for partition in present:
            self._cursors[partition].prove(starts[partition])
        return {
            partition: firsts[partition]
            for partition in present
            if not self._is_in_doubt(partition, starts[partition])
        }

    def check_permissions(self, partitions: Iterable[TopicPartition]) -> None:
        """Check that this role may consume the partitions, because bookies check no permissions.

        Raises:
            PermissionDenied: This role may not consume one of the partitions.

        """
        self._requests.request_all(
            [partition for partition in partitions if self._cursors[partition].consumer is None], {}
        )

    def reachable(self, ends: Positions) -> dict[TopicPartition, Position]:
        """Return the last position that a bound may name for each partition, given its present end.

        Messages that compaction has removed may follow the end of a compacted view.
        """
        if not self._read_compacted:
            return dict(ends)
        with closing(LogEnds(self._client)) as plain:
            return {partition: max(end, ends[partition]) for partition, end in plain.ends(ends).items()}

    def close(self) -> None:
        self._requests.close_all(list(self._cursors))

    # Requests to brokers

    def _follow(self, partitions: list[TopicPartition], starts: Positions) -> Answers:
        """Request the log end of each partition, store the proofs, and acknowledge up to the query's positions."""
        self._requests.close_all(self._cursors.keys() - set(partitions))
        answers = self._requests.request_all(partitions, starts)
        if not self._read_compacted:
            present = {
                partition: start for partition, start in starts.items() if partition in answers.log_ends
            }
            for partition, start in present.items():
                self._cursors[partition].prove(start)
            for partition, start in present.items():
                self._cursors[partition].acknowledge(start)
        return answers

    def _visible_ends(
        self, log_ends: Mapping[TopicPartition, LogEnd], *, is_repeated: bool
    ) -> dict[TopicPartition, Position]:
        segments = [partition for partition in log_ends if partition.is_segment]
        ends = {partition: log_end.end for partition, log_end in log_ends.items() if not partition.is_segment}
        if not is_repeated:
            ends |= self._unhidden_ends([partition for partition, end in ends.items() if end.is_earliest])
        return ends | self._stored_ends(segments)

    def _unhidden_ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Wait until no partition is hidden, and return the ends of the partitions that were hidden.

        Brokers (4.0.8) show no message of a topic while they unload it. Brokers also show no message while the topic's
        transaction buffer writes its first snapshot, which happens when the first transactional message arrives. The
        log ends are requested again until the time limit of an operation. After this time, `MessagesHidden` is raised.
        """
        if self._read_compacted:
            return self._compacted_ends(partitions)
        ends: dict[TopicPartition, Position] = {}
        hidden = self._stored_spans(partitions)
        deadline = time.monotonic() + self._client.request_seconds
        while hidden := self._without_unseen(hidden):
            if time.monotonic() >= deadline:
                raise self._hidden(hidden)
            time.sleep(_PAUSE_SECONDS)
            log_ends = self._requests.request_all(list(hidden), {}).log_ends
            present = {partition: log_end.end for partition, log_end in log_ends.items()}
            ends |= present
            hidden = {
                partition: span
                for partition, span in hidden.items()
                if partition in present and present[partition].is_earliest
            }
        return ends

    def _compacted_ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Return the ends of compacted views, after their topics are no longer hidden.

        A view that then still shows no message is empty.
        """
        if not partitions:
            return {}
        with closing(LogEnds(self._client, self._admin)) as plain:
            plain.present_ends(partitions, {})
        log_ends = self._requests.request_all(partitions, {}).log_ends
        return {partition: log_end.end for partition, log_end in log_ends.items()}

    def _stored_spans(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Span]:
        """Return the start and the end of the stored entries, for each partition that has any."""
        cursors = {partition: self._cursors[partition].mark_delete for partition in partitions}
        if not cursors:
            return {}
        ends = new_cursors(self._client, dict.fromkeys(cursors))
        # With `starts_at_first`, a cursor without a start is at the first entry. Otherwise such a cursor is at the
        # query's position.
        firsts = (
            cursors if self._starts_at_first else new_cursors(self._client, dict.fromkeys(cursors, FIRST))
        )
        return {
            partition: (first, ends[partition])
            for partition, first in firsts.items()
            if partition in ends and first < ends[partition]
        }

    def _without_unseen(self, spans: Mapping[TopicPartition, Span]) -> dict[TopicPartition, Span]:
        """Return the spans in which some entries may be messages for consumers.

        The other spans contain only markers, messages of aborted transactions, and entries after the first message of
        an open transaction.
        """
        if not spans:
            return {}
        try:
            passed = pass_unseen(self._client, spans, _PASS_SECONDS)
        except TopicNotFoundError:
            return dict(spans)
        rest = {partition: span for partition, span in spans.items() if passed[partition] < span[1]}
        admin = self._admin
        if admin is None:
            return rest
        return {
            partition: span for partition, span in rest.items() if not has_open_transaction(admin, partition)
        }

    def _hidden(self, spans: Mapping[TopicPartition, Span]) -> MessagesHidden:
        partition, (first, end) = next(iter(spans.items()))
        others = f" and {len(spans) - 1} more" if len(spans) > 1 else ""
        why = (
            "Either the broker has not loaded the whole topic, or a transaction is open since the first message"
            if self._admin is None
            else "The broker has probably not loaded the whole topic"
        )
        advice = (
            "unload the topic, or set admin.url to find open transactions"
            if self._admin is None
            else "or unload the topic"
        )
        return MessagesHidden(
            f"{partition}{others}: expected the broker to show messages of the entries from {first} up to {end}, got "
            f"none within {self._client.request_seconds:.0f} s. {why}; wait and try again, {advice}"
        )

    def _stored_ends(self, segments: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Return the position after the last stored entry of each segment that still exists.

        If transactions are enabled, brokers of Pulsar 5 (seen on 5.0.0-M1; 5.0.1 has the same code) always repeat their
        first answer about a segment's end. But such brokers put a new cursor at the log end.
        """
        if not segments:
            return {}
        ends = new_cursors(self._client, dict.fromkeys(segments))
        # If an end is at entry 0 of a ledger, the topic may have no earlier entry.
        firsts = new_cursors(
            self._client, {partition: FIRST for partition, end in ends.items() if end.entry == 0}
        )
        empty = [partition for partition, first in firsts.items() if first >= ends[partition]]
        return ends | dict.fromkeys(empty, EARLIEST)

    def _is_in_doubt(self, partition: TopicPartition, start: Position) -> bool:
        if start.is_earliest or self._read_compacted:
            return False
        return self._cursors[partition].is_in_doubt(start)


def _removed_entries(start: Position, mark_delete: Position) -> int | None:
    is_known = mark_delete.ledger == start.ledger and mark_delete >= start
    return mark_delete.entry - start.entry if is_known else None
