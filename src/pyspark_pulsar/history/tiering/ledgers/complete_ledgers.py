"""The complete ledgers of a topic partition. Only complete ledgers are tiered. Pure.

A ledger is complete when no message can be added to the ledger, and no transaction with messages of the ledger is open:

  * The ledger is closed.
  * The end of the visible messages is after the ledger's last entry. If a transaction is open, the end of the visible
    messages is before the transaction's first message. So a ledger with messages of an open transaction is not
    complete. Later ledgers are not complete either, because a table has no gaps.

A topic partition is tiered in order, from its first ledger. If ledgers were removed before they were tiered, tiering
fails with an error. If the user has allowed data loss, tiering continues, and records the range of these ledgers as
lost. Module `columnar.positions` describes the end of the tiered range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.history.columnar.positions import TieredPartition
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.loss_report import report_loss
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers


@dataclass(frozen=True, slots=True)
class CompletePart:
    """The next part of a topic partition to tier."""

    start: Position
    """The position of the first row to write."""
    tiered: TieredPartition
    """The tiered range of the topic partition after the commit. If the part has no rows, its `end` equals `start`."""
    is_cut: bool = False
    """True if some complete ledgers are left for the next round, because a round has a size limit."""

    @property
    def is_empty(self) -> bool:
        return self.start == self.tiered.end


def complete_part(
    partition: TopicPartition,
    present: TopicLedgers,
    previous: TieredPartition | None,
    readable_end: Position,
    now_ms: int,
    *,
    max_bytes: int,
    before: int | None = None,
    kept_ms: Callable[[], int | None],
    fail: bool,
) -> CompletePart | None:
    """Return the next part of a topic partition to tier, or None if the table needs no commit for this partition.

    Args:
        partition: The topic partition.
        present: The present ledgers of the topic partition.
        previous: The range of the partition that is already tiered; None if no message is tiered.
        readable_end: The end of the visible messages. No entry before this position belongs to an open transaction.
        now_ms: The present time, in Unix milliseconds.
        max_bytes: The approximate size of a part, in bytes. A part has at least one ledger.
        before: The id of the first ledger that must not be tiered yet; None if all complete ledgers can be tiered.
        kept_ms: A function that returns how long retention keeps acknowledged messages, in milliseconds. None means
            forever. The function is called only if the result depends on retention.
        fail: Whether lost ledgers are an error. If false, lost ledgers are only logged.

    Raises:
        DataLossError: Ledgers were removed before they were tiered.

    """
    ledgers = present.ledgers
    if not ledgers:
        return None
    tiered = previous or TieredPartition(EARLIEST, created=present.created)
    start, is_loss = _find_start(partition, tiered, ledgers, now_ms, kept_ms, fail=fail)
    lost = ((tiered.end, start),) if is_loss else ()
    last, size, is_cut = None, 0, False
    for ledger in ledgers:
        if ledger.id < start.ledger or not ledger.entries:
            continue
        if before is not None and ledger.id >= before:
            break
        is_whole = not ledger.is_open and Position(ledger.id, ledger.entries) <= readable_end
        is_cut = is_whole and size > 0 and size + ledger.size > max_bytes
        if not is_whole or is_cut:
            break
        last, size = ledger, size + ledger.size
    reached = _tiered_up_to(tiered, start, last, ledgers, now_ms)
    if reached is None:
        return None
    reached = replace(reached, lost=tiered.lost + lost)
    return CompletePart(start, reached, is_cut) if _needs_commit(previous, reached, kept_ms) else None


def _tiered_up_to(
    tiered: TieredPartition, start: Position, last: Ledger | None, ledgers: Sequence[Ledger], now_ms: int
) -> TieredPartition | None:
    """Return the tiered range of a topic partition after ledger `last` is tiered.

    If `last` is None, this round tiers no ledger. If no earlier round tiered a ledger either, the result is None.
    """
    if last is None and tiered.end.is_earliest:
        return None
    end = start if last is None else Position(last.id, last.entries)
    if end.entry == 0:
        # The end is before the first entry of a ledger that is not tiered.
        return replace(tiered, end=end, next=None, closed_at=None, seen_at=None)
    following = next((ledger for ledger in ledgers if ledger.id > end.ledger and ledger.entries), None)
    if following is not None:
        return replace(tiered, end=Position(following.id, 0), next=None, closed_at=None, seen_at=None)
    closed_at = tiered.closed_at if last is None else last.closed_ms
    empty = next((ledger.id for ledger in ledgers if ledger.id > end.ledger), None)
    return replace(tiered, end=end, next=empty, closed_at=closed_at or 0, seen_at=now_ms)


def _find_start(
    partition: TopicPartition,
    tiered: TieredPartition,
    ledgers: Sequence[Ledger],
    now_ms: int,
    kept_ms: Callable[[], int | None],
    *,
    fail: bool,
) -> tuple[Position, bool]:
    """Return the position at which the next part begins, and whether ledgers before this position are lost."""
    first = ledgers[0].id
    if tiered.end.is_earliest or tiered.end.ledger >= first or tiered.is_outlived(first, now_ms, kept_ms):
        return tiered.end, False
    report_loss(
        f"{partition}: expected ledger {tiered.end.ledger}, the first ledger that is not tiered, got {first} as the "
        f"first remaining ledger; retention or truncation has removed the earlier ledgers",
        "Tier more often than retention removes ledgers. To tier the remaining ledgers, set failOnDataLoss=false",
        fail=fail,
    )
    return Position(first, 0), True


def _needs_commit(
    previous: TieredPartition | None, reached: TieredPartition, kept_ms: Callable[[], int | None]
) -> bool:
    """Return whether the new tiered range must be committed.

    If only `seen_at` has changed, a commit is necessary after each quarter of the retention time. Without these
    commits, `seen_at` would be too old when retention removes the ledger.
    """
    if previous is None or (previous.end, previous.next, previous.lost) != (
        reached.end,
        reached.next,
        reached.lost,
    ):
        return True
    if previous.seen_at is None or reached.seen_at is None:
        return False
    kept = kept_ms()
    # Without retention, the ledger may be removed immediately, so refreshing `seen_at` is useless.
    return kept is not None and kept > 0 and reached.seen_at - previous.seen_at > kept / 4
