"""Where each topic partition ends now, and what was removed before it was read.

Driver: once for a batch, at every trigger of a stream. Executors: where a topic must be loaded.

Brokers tell the last message id to consumers only. So there is one idle consumer for each topic partition: not durable,
without permits, of a subscription with a random name. All consumers of a broker share a connection. All requests of a
trigger are sent before the first answer is awaited.

    state of a partition   what happens                                     next state
    none, or closed        subscribe at the stand S                         open
    open                   GetLastMessageId: the end E, the mark-delete M   open
    open                   acknowledge cumulatively up to S                 open, S is acknowledged
    open                   the broker closes the consumer, or moves away    closed
    any                    the broker says that there is no such topic      closed, the topic is deleted
    any                    no longer among the partitions of the query      closed

"The stand" S is where the query stands: the next message that it reads, and so the start of its next range. The
consumer's cursor is put there, and follows the query by acknowledging. M, the cursor's mark-delete position, is given
here as the first position that is not acknowledged. E and M come in the same answer, so a trigger learns what was
removed without any further request, and without any right but to consume.

What brokers do with a cursor (tests/integration/test_removed_ledgers.py holds them to it):

1. It moves forward only: by acknowledging, by an expiry or a skip that somebody asks for, or by trimming.
2. Trimming removes whole ledgers from the front. A cursor in a removed ledger is moved to what is left: when it stood
   at the end of that ledger, to entry 0 of the next one; when entries were left in it, behind those entries.
3. A new cursor that is put at a position which is not there comes to stand behind it, at the first one that is.

From this follows what an answer M says of the range that begins at S:

    M                                       conclusion
    M <= S                                  all from S on is there (1, 2): proved up to S
    M = (a later ledger, entry 0), told by  the ledger of S ended at S and was trimmed (2); nothing unread was in it:
      a consumer that proved S itself       proved up to M
    M <= what is proved for S               nothing was removed
    M behind what is proved                 in doubt: trimmed unread, or only skipped by somebody (1)

In doubt, a new consumer is put at S. If its M is not behind what is proved, only the cursor had been moved, and nothing
was removed (3). If it is, what lies between was removed: `RemovedEntries`. How many entries is known when the former M
lies in the ledger of S (2). Else that ledger is gone and nobody knows where it ended (`is_unclear`); the ledgers that a
planner has seen may still tell.

A proof outlives its consumer, since what is proved stays true: entries behind S can be removed only by moving M behind
the proof. It is of use only for the same S. Positions inside a batched entry count as the whole entry, as cursors know
no messages inside one. A compacted view has no such proof: compaction removes entries which nobody misses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import has_open_transaction
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.consumer import LogEnd
from pyspark_pulsar.errors import MessagesHidden, TopicNotFoundError
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.cursor_requests import FIRST, Answers, CursorRequests, Positions
from pyspark_pulsar.read.unseen_entries import Span, pass_unseen
from pyspark_pulsar.topic import TopicPartition

FRESH_SECONDS = 2.0
"""For so long it counts as true that nothing was removed. A plan is made of ledgers that are listed after that, and a
trigger with limits counts messages before, for minutes; one of `Trigger.AvailableNow` does not ask where topics end."""

_PASS_SECONDS = 2.0
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RemovedEntries:
    """What is no longer there of a range, seen from its start."""

    first_left: Position | None
    """None where the topic is deleted."""
    entries: int | None
    """How many entries at least were removed behind the start; None where brokers do not know whether any was."""

    @property
    def is_unclear(self) -> bool:
        """The ledger of the start was removed, and with it the knowledge of where it ended."""
        return self.first_left is not None and self.entries is None


class LogEnds:
    """Used by one thread. `close` takes the consumers away at once; else they go with the client."""

    def __init__(
        self,
        client: BrokerClient,
        admin: AdminClient | None = None,
        *,
        read_compacted: bool = False,
        tells_firsts: bool = False,
    ) -> None:
        """`admin` tells an open transaction from a broker that hides messages; the caller closes it. `read_compacted`:
        the ends of the compacted views. `tells_firsts`: without a start, cursors are put at the first entry and not at
        the end."""
        self._client = client
        self._admin = admin
        self._read_compacted = read_compacted
        self._tells_firsts = tells_firsts and not read_compacted
        self._requests = CursorRequests(
            client, read_compacted=read_compacted, tells_firsts=self._tells_firsts
        )
        self._cursors = self._requests.cursors

    def ends(
        self, partitions: Iterable[TopicPartition], *, comes_again: bool = False
    ) -> dict[TopicPartition, Position]:
        """Behind the last visible message of each; the consumers of other partitions are let go. `comes_again`: as in
        `present_ends`.

        Raises `TopicNotFoundError`, `PermissionDenied`, `ConnectionFailed`, and `MessagesHidden` where nobody knows
        whether a topic partition is empty.
        """
        partitions = list(partitions)
        answers = self._trigger(partitions, {})
        for fault in answers.deleted.values():
            raise fault
        return self._ends_of(answers, comes_again=comes_again)

    def firsts(self) -> dict[TopicPartition, Position]:
        """Where the first ledger begins that was left when brokers told the ends, by the last answers; of those that
        tell it, with `tells_firsts`."""
        if not self._tells_firsts:
            return {}
        return {
            partition: cursor.mark_delete
            for partition, cursor in self._cursors.items()
            if cursor.log_end is not None and not cursor.mark_delete.is_earliest
        }

    def present_ends(
        self, partitions: Iterable[TopicPartition], starts: Positions, *, comes_again: bool = False
    ) -> Positions:
        """`ends` of those partitions that are still there. `starts`: where the query stands in them. `comes_again`: the
        query reads what is not shown yet when it is shown, so an empty answer is taken as it is."""
        return self._ends_of(self._trigger(list(partitions), starts), comes_again=comes_again)

    def removed(self, starts: Positions, *, anew: bool = False) -> dict[TopicPartition, RemovedEntries]:
        """What was removed behind the starts of ranges; of a compacted view only whole topics.

        Asks brokers where there is no consumer, where the last answer is older than `FRESH_SECONDS` or is not to be
        relied on (`anew`), and where it is in doubt: then by a new consumer at the start.
        """
        missing = {partition for partition in starts if not self._cursors[partition].is_open}
        fresh_since = math.inf if anew else time.monotonic() - FRESH_SECONDS
        asked = [partition for partition in starts if not self._cursors[partition].is_fresh(fresh_since)]
        deleted = self._requests.request_all(asked, starts).deleted
        if not self._read_compacted:
            for partition in asked:
                if partition not in deleted:
                    self._cursors[partition].prove(starts[partition])
        # That a ledger before the start is there does not say that the one of the start is.
        elsewhere = starts.keys() - missing if self._tells_firsts else set()
        doubtful = {
            partition: self._cursors[partition].mark_delete
            for partition, start in starts.items()
            if partition not in deleted and (partition in elsewhere or self._is_in_doubt(partition, start))
        }
        self._close_all(doubtful)
        deleted |= self._requests.request_all(list(doubtful), starts).deleted
        removed = {
            partition: RemovedEntries(
                self._cursors[partition].mark_delete, _removed_entries(starts[partition], former_mark_delete)
            )
            for partition, former_mark_delete in doubtful.items()
            if partition not in deleted and self._is_in_doubt(partition, starts[partition])
        }
        return removed | dict.fromkeys(deleted, RemovedEntries(None, None))

    def proved(self, stands: Positions) -> dict[TopicPartition, Position]:
        """Up to where nothing was removed unread, of those whose cursor was moved on from where the query stands."""
        return {
            partition: upto
            for partition, stand in stands.items()
            if partition in self._cursors and (upto := self._cursors[partition].proved(stand)) is not None
        }

    def first_left(self, stands: Positions) -> dict[TopicPartition, Position]:
        """Where the first ledger begins that is left, of those whose ledgers up to there went with nothing unread in
        them. Brokers leave a cursor at the end of a removed ledger until there is another entry."""
        firsts = self._cursors_at(dict.fromkeys(stands, FIRST))
        gone = [
            partition
            for partition, first in firsts.items()
            if first.entry == 0 and first.ledger > stands[partition].ledger
        ]
        # Asked after that: a cursor that stands there still says that nothing behind it had gone by then.
        answered = self._requests.request_all(gone, stands).log_ends
        for partition in answered:
            self._cursors[partition].prove(stands[partition])
        return {
            partition: firsts[partition]
            for partition in answered
            if not self._is_in_doubt(partition, stands[partition])
        }

    def show_rights(self, partitions: Iterable[TopicPartition]) -> None:
        """That this role may consume them, which direct reads need to have been shown. Raises `PermissionDenied`."""
        self._requests.request_all(
            [partition for partition in partitions if self._cursors[partition].consumer is None], {}
        )

    def reachable(self, ends: Positions) -> dict[TopicPartition, Position]:
        """How far positions can lie, given the present `ends`: behind the end of a compacted view come
        messages that compaction has removed."""
        if not self._read_compacted:
            return dict(ends)
        with closing(LogEnds(self._client)) as plain:
            return {partition: max(end, ends[partition]) for partition, end in plain.ends(ends).items()}

    def close(self) -> None:
        self._close_all(list(self._cursors))

    # Requests to brokers

    def _trigger(self, partitions: list[TopicPartition], starts: Positions) -> Answers:
        """Ask where each partition ends, conclude what is proved, and let the cursors follow the query."""
        self._close_all(self._cursors.keys() - set(partitions))
        answers = self._requests.request_all(partitions, starts)
        if not self._read_compacted:
            standing = {
                partition: start for partition, start in starts.items() if partition in answers.log_ends
            }
            for partition, start in standing.items():
                self._cursors[partition].prove(start)
            for partition, start in standing.items():
                self._cursors[partition].acknowledge(start)
        return answers

    def _ends_of(self, answers: Answers, *, comes_again: bool) -> dict[TopicPartition, Position]:
        segments = [partition for partition in answers.log_ends if partition.is_segment]
        ends = {
            partition: log_end.end
            for partition, log_end in answers.log_ends.items()
            if not partition.is_segment
        }
        if not comes_again:
            ends |= self._shown_ends([partition for partition, end in ends.items() if end.is_earliest])
        return ends | self._written_ends(segments)

    def _shown_ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Ends of those that show no message, but store entries that may be messages.

        Brokers (4.0.8) show nothing of a topic that they unload just now, nor while its transaction buffer takes its
        first snapshot, which is when the first transactional message comes. They are asked again, for as long as an
        operation may take. Raises `MessagesHidden` then.
        """
        if self._read_compacted:
            return self._compacted_ends(partitions)
        shown: dict[TopicPartition, Position] = {}
        hidden = self._stored(partitions)
        deadline = time.monotonic() + self._client.request_seconds
        while hidden := self._without_unseen(hidden):
            if time.monotonic() >= deadline:
                raise self._hidden(hidden)
            time.sleep(_PAUSE_SECONDS)
            log_ends = self._requests.request_all(list(hidden), {}).log_ends
            shown |= {partition: log_end.end for partition, log_end in log_ends.items()}
            hidden = {
                partition: span
                for partition, span in hidden.items()
                if partition in log_ends and log_ends[partition].end.is_earliest
            }
        return shown

    def _compacted_ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Ends of compacted views that show no message, when their topics show all they have: such a view is empty."""
        if not partitions:
            return {}
        with closing(LogEnds(self._client, self._admin)) as plain:
            plain.present_ends(partitions, {})
        log_ends = self._requests.request_all(partitions, {}).log_ends
        return {partition: log_end.end for partition, log_end in log_ends.items()}

    def _stored(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Span]:
        """Where the entries begin and end of each that has any, whether consumers can see them or not."""
        stands = {partition: self._cursors[partition].mark_delete for partition in partitions}
        if not stands:
            return {}
        ends = self._cursors_at(dict.fromkeys(stands))
        # With starts, a cursor stands where the query does.
        firsts = stands if self._tells_firsts else self._cursors_at(dict.fromkeys(stands, FIRST))
        return {
            partition: (first, ends[partition])
            for partition, first in firsts.items()
            if partition in ends and first < ends[partition]
        }

    def _without_unseen(self, spans: Mapping[TopicPartition, Span]) -> dict[TopicPartition, Span]:
        """Those of which some entries may be messages that a consumer can see: not only markers, what aborted
        transactions wrote, and what comes behind the first message of a transaction that is open."""
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
            "a transaction may be open that began at its first message, which only the admin REST API tells "
            "(option 'admin.url'), or the broker has not loaded the topic as a whole"
            if self._admin is None
            else "the broker may not have loaded the topic as a whole"
        )
        return MessagesHidden(
            f"{partition}{others}: expected the broker to show messages of the entries from {first} up to {end}, got "
            f"none for {self._client.request_seconds:.0f} s: {why}; wait and try again, or unload the topic"
        )

    def _written_ends(self, segments: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
        """Behind the last entry of each, whether consumers can see it yet or not; those deleted meanwhile are left out.

        Of a segment brokers of Pulsar 5 (seen on 5.0.0-M1; 5.0.1 has the same code) tell for ever the end that they
        were first asked for, where transactions are enabled. But a new cursor is put where the log ends.
        """
        if not segments:
            return {}
        ends = self._cursors_at(dict.fromkeys(segments))
        # At the beginning of a ledger: there may be none before it.
        firsts = self._cursors_at({partition: FIRST for partition, end in ends.items() if end.entry == 0})
        empty = [partition for partition, first in firsts.items() if first >= ends[partition]]
        return ends | dict.fromkeys(empty, EARLIEST)

    def _cursors_at(self, stands: Mapping[TopicPartition, Position | None]) -> dict[TopicPartition, Position]:
        """Where new cursors come to stand that are put at these positions (None: at the end)."""
        starts = {partition: stand for partition, stand in stands.items() if stand is not None}
        with closing(LogEnds(self._client)) as fresh:
            answers = fresh.answers(list(stands), starts)
        return {partition: log_end.mark_delete for partition, log_end in answers.items()}

    def answers(
        self, partitions: Sequence[TopicPartition], starts: Positions
    ) -> Mapping[TopicPartition, LogEnd]:
        """What brokers say of those that are there; where there is no consumer, by a new one at its start."""
        return self._requests.request_all(partitions, starts).log_ends

    def _is_in_doubt(self, partition: TopicPartition, start: Position) -> bool:
        if start.is_earliest or self._read_compacted:
            return False
        return self._cursors[partition].is_in_doubt(start)

    def _close_all(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._cursors[partition].close()


def _removed_entries(start: Position, mark_delete: Position) -> int | None:
    is_known = mark_delete.ledger == start.ledger and mark_delete >= start
    return mark_delete.entry - start.entry if is_known else None
