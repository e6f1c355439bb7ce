"""Detection, at planning time, of messages that retention removed from a range. Driver only.

Retention removes a topic's oldest ledgers. So a range has lost messages only if it begins in a ledger before the first
existing ledger. There is one exception: a range that begins after the last entry of a removed ledger has lost nothing
if the next ledger still exists. The existing ledgers do not reveal that case, but ledgers from earlier lists do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.log_end import RemovedEntries
from pyspark_pulsar.read.loss_report import report_loss
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers

_KEEP_LONGER: Final = (
    "Set the topic's retention to more than the longest pause of its queries. "
    "To continue with the remaining messages, set failOnDataLoss=false"
)
_NOTHING: Final[Mapping[int, Ledger]] = {}


def check_loss(
    partition: TopicPartition,
    present: TopicLedgers,
    start: Position,
    end: Position,
    *,
    fail: bool,
    previous: Mapping[int, Ledger] = _NOTHING,
) -> None:
    """Raise `DataLossError` if the range begins in removed ledgers; with `fail` false, log a warning instead.

    `previous` contains the ledgers from earlier lists of this process, by id. The number of lost entries is
    computed from these ledgers.
    """
    if start.is_earliest or not present.ledgers or start >= end:
        return
    first = present.ledgers[0].id
    if start.ledger >= first:
        return
    lost = _lost_entries(start, min(end, Position(first, 0)), first, previous)
    if lost == 0:
        return
    count = "" if lost is None else f" ({lost} entries)"
    text = (
        f"{partition}: expected messages from {start} up to {end}, but the first ledger that is left is {first}. The "
        f"messages between {start} and {min(end, Position(first, 0))}{count} were removed by retention or truncation, "
        f"or the topic was deleted and made again"
    )
    report_loss(text, _KEEP_LONGER, fail=fail)


def is_cut_off(start: Position, present: TopicLedgers) -> bool:
    """Return whether a range begins in a ledger before the first existing ledger."""
    return bool(present.ledgers) and not start.is_earliest and start.ledger < present.ledgers[0].id


def retention_ms(admin: AdminClient, partition: TopicPartition) -> int | None:
    """Return the minimum time (ms) for which a topic keeps messages that all subscriptions have acknowledged.

    Returns:
        The duration, or None if the topic keeps its messages forever. The duration is 0 if the size of the retained
        messages is also limited, or if this role may not read the policy.

    Raises:
        PulsarError: The errors of `AdminClient`, except for a missing permission.

    """
    try:
        policy = admin.policies.applied(partition.topic, "retention")
    except PermissionDenied:
        return 0
    if not isinstance(policy, Mapping):
        return 0
    minutes, megabytes = int(policy["retentionTimeInMinutes"]), int(policy["retentionSizeInMB"])
    if megabytes >= 0:
        # The broker removes messages beyond this size immediately.
        return 0
    return None if minutes < 0 else minutes * 60_000


def remember(previous: Mapping[int, Ledger], present: TopicLedgers) -> dict[int, Ledger]:
    """Return `previous` for the next call of `check_loss`: the partition's ledgers by id, without a gap."""
    now = present.by_id()
    return {**previous, **now} if previous.keys() & now.keys() else now


def _lost_entries(start: Position, end: Position, first: int, previous: Mapping[int, Ledger]) -> int | None:
    """Return the number of lost entries, or None if a ledger between `start` and `first` was never listed as closed."""
    if start.ledger not in previous or first not in previous:
        return None
    gone = [ledger for number, ledger in previous.items() if start.ledger <= number < first]
    if any(ledger.is_open for ledger in gone):
        return None
    return sum(
        max(0, (end.entry if ledger.id == end.ledger else ledger.entries) - _first_read_entry(ledger, start))
        for ledger in gone
        if ledger.id <= end.ledger
    )


def _first_read_entry(ledger: Ledger, start: Position) -> int:
    return start.entry if ledger.id == start.ledger else 0


def advance_positions(
    previous: Mapping[TopicPartition, Position], ends: Mapping[TopicPartition, Position], *, fail: bool
) -> tuple[dict[TopicPartition, Position], dict[TopicPartition, Position]]:
    """Return the new positions of a stream, and the starts of the partitions that it reads again from `earliest`.

    If a partition was deleted or is now empty, its position is the position that the query has reached.

    Raises:
        DataLossError: A partition ends before the position that the query reached. With `fail` false the loss is
            logged, and the partition is read from its first message.

    """
    positions, starts = dict(previous) | dict(ends), {}
    for partition, position in previous.items():
        end = ends.get(partition, position)
        if end.is_earliest:
            positions[partition] = position
        elif end < position:
            text = (
                f"{partition}: the query has read up to {position}, but the topic's last message is before {end}; was "
                f"the topic deleted and made again?"
            )
            report_loss(
                text,
                "To choose the position, start with a new checkpoint. To read the topic from its first message on, "
                "set failOnDataLoss=false",
                fail=fail,
                consequence="the topic is read from its first message on",
            )
            starts[partition] = EARLIEST
    return positions, starts


def check_removed(
    starts: Mapping[TopicPartition, Position], removed: Mapping[TopicPartition, RemovedEntries], *, fail: bool
) -> set[TopicPartition]:
    """Report the entries that brokers removed after the starts of ranges.

    Returns:
        The topic partitions that were deleted.

    Raises:
        DataLossError: Entries were removed, and `fail` is true; otherwise the loss is logged.

    """
    for partition, entries in sorted(removed.items()):
        report_loss(_removed_text(partition, starts[partition], entries), _KEEP_LONGER, fail=fail)
    return {partition for partition, entries in removed.items() if entries.first_left is None}


def _removed_text(partition: TopicPartition, start: Position, removed: RemovedEntries) -> str:
    expected = f"{partition}: expected messages from {start}, but"
    if removed.first_left is None:
        return f"{expected} the topic was deleted"
    lost = (
        f"at least {removed.entries} entries after {start} are gone"
        if removed.entries is not None
        else f"the ledger of {start} is gone, with all its entries after that position"
    )
    return (
        f"{expected} the first messages that are left are at {removed.first_left}: {lost}, because of retention or "
        f"truncation, or because the topic was deleted and made again"
    )
