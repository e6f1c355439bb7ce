"""Which ledgers of a topic partition are complete, so that they may be tiered. Pure.

A ledger is complete when nothing can come into it any more, and when it is known of all that is in it whether
consumers see it:

  * it is closed;
  * what consumers may see ends behind it. An open transaction holds that end back, to its first message, so no ledger
  that one
    reaches into is complete; nor is any behind it, since a table has no holes.

A topic partition is tiered from its first ledger on, in order. What retention has removed before that is an error,
or, if that is asked for, remembered as lost. What a table says of the end is told in `columnar.positions`.
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
    """What comes next of a topic partition."""

    start: Position
    """Where the rows begin that are to be written."""
    tiered: TieredPartition
    """What the table says when they are there; its `end` is `start` where there are no rows."""
    is_cut: bool = False
    """Whether more was complete than one round takes."""

    @property
    def is_empty(self) -> bool:
        return self.start == self.tiered.end


def complete_part(
    partition: TopicPartition,
    present: TopicLedgers,
    former: TieredPartition | None,
    readable_end: Position,
    now_ms: int,
    *,
    max_bytes: int,
    before: int | None = None,
    kept_ms: Callable[[], int | None],
    fail: bool,
) -> CompletePart | None:
    """None if the table needs to learn nothing.

    `readable_end`: behind the last entry that no open transaction holds back. `max_bytes`: about how much a round
    takes, one ledger at least. `kept_ms`: for how long retention keeps what is acknowledged, None for ever; it
    matters only where `former.empty_at` is there. Raises `DataLossError` where ledgers are gone that are not tiered;
    without `fail` that is logged.
    """
    ledgers = present.ledgers
    if not ledgers:
        return None
    tiered = former or TieredPartition(EARLIEST, created=present.created)
    start, is_loss = _start(partition, tiered, ledgers, now_ms, kept_ms, fail=fail)
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
    reached = _reached(tiered, start, last, ledgers, now_ms)
    if reached is None:
        return None
    reached = replace(reached, lost=tiered.lost + lost)
    return CompletePart(start, reached, is_cut) if _is_news(former, reached, kept_ms) else None


def _reached(
    tiered: TieredPartition, start: Position, last: Ledger | None, ledgers: Sequence[Ledger], now_ms: int
) -> TieredPartition | None:
    """Tiered up to a ledger, inclusive; None where it is none and never was."""
    if last is None and tiered.end.is_earliest:
        return None
    end = start if last is None else Position(last.id, last.entries)
    if end.entry == 0:
        # Before a ledger of which nothing is tiered.
        return replace(tiered, end=end, next=None, closed_at=None, seen_at=None)
    following = next((ledger for ledger in ledgers if ledger.id > end.ledger and ledger.entries), None)
    if following is not None:
        return replace(tiered, end=Position(following.id, 0), next=None, closed_at=None, seen_at=None)
    closed_at = tiered.closed_at if last is None else last.closed_ms
    empty = next((ledger.id for ledger in ledgers if ledger.id > end.ledger), None)
    return replace(tiered, end=end, next=empty, closed_at=closed_at or 0, seen_at=now_ms)


def _start(
    partition: TopicPartition,
    tiered: TieredPartition,
    ledgers: Sequence[Ledger],
    now_ms: int,
    kept_ms: Callable[[], int | None],
    *,
    fail: bool,
) -> tuple[Position, bool]:
    """And whether something is lost before it."""
    first = ledgers[0].id
    if tiered.end.is_earliest or tiered.end.ledger >= first or tiered.is_outlived(first, now_ms, kept_ms):
        return tiered.end, False
    report_loss(
        f"{partition}: expected the ledgers from {tiered.end.ledger} on, which are not tiered yet, but the first "
        f"that is left is {first}: retention or truncation has removed what was between",
        "Tier more often than retention removes. To go on with what is left, set failOnDataLoss=false",
        fail=fail,
    )
    return Position(first, 0), True


def _is_news(
    former: TieredPartition | None, reached: TieredPartition, kept_ms: Callable[[], int | None]
) -> bool:
    """Whether a commit is due. That nothing follows has to be seen often enough to be known when the ledger is gone."""
    if former is None or (former.end, former.next, former.lost) != (reached.end, reached.next, reached.lost):
        return True
    if former.seen_at is None or reached.seen_at is None:
        return False
    kept = kept_ms()
    # Without retention it may be removed at once, and nothing is ever known.
    return kept is not None and kept > 0 and reached.seen_at - former.seen_at > kept / 4
