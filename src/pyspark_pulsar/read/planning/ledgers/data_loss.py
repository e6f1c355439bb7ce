"""What retention has removed of a range: noticed when the range is planned. Driver only.

Retention removes a topic's ledgers from the front, so a range has lost something exactly when it begins in a ledger
before the first that is there. One case cannot be told from the ledgers that are left: a range that begins behind
the last entry of a ledger that is gone has lost nothing if the next one is there.
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
    "Set retention longer than queries stand still. To go on with what is left, set failOnDataLoss=false"
)
_NOTHING: Final[Mapping[int, Ledger]] = {}


def check_loss(
    partition: TopicPartition,
    present: TopicLedgers,
    start: Position,
    end: Position,
    *,
    fail: bool,
    former: Mapping[int, Ledger] = _NOTHING,
) -> None:
    """Raises `DataLossError` when the range begins in ledgers that are gone; with `fail` false it is logged.

    `former`: ledgers that this process has seen before, by id; they tell how many entries are gone.
    """
    if start.is_earliest or not present.ledgers or start >= end:
        return
    first = present.ledgers[0].id
    if start.ledger >= first:
        return
    lost = _lost_entries(start, min(end, Position(first, 0)), first, former)
    if lost == 0:
        return
    count = "" if lost is None else f" ({lost} entries)"
    text = (
        f"{partition}: expected messages from {start} up to {end}, but the first ledger that is left is {first}: what "
        f"was between {start} and {min(end, Position(first, 0))}{count} was removed by retention or truncation, or "
        f"the topic was made again"
    )
    report_loss(text, _KEEP_LONGER, fail=fail)


def is_cut_off(start: Position, present: TopicLedgers) -> bool:
    """Whether a range begins in ledgers before the first that is there."""
    return bool(present.ledgers) and not start.is_earliest and start.ledger < present.ledgers[0].id


def retention_ms(admin: AdminClient, partition: TopicPartition) -> int | None:
    """For how long messages stay that all subscriptions have acknowledged, at least; None: for ever. 0 where this role
    may not know. Raises the other errors of `AdminClient`."""
    try:
        policy = admin.policies.applied(partition.topic, "retention")
    except PermissionDenied:
        return 0
    if not isinstance(policy, Mapping):
        return 0
    minutes, megabytes = int(policy["retentionTimeInMinutes"]), int(policy["retentionSizeInMB"])
    if megabytes >= 0:
        # What is more than that goes at once.
        return 0
    return None if minutes < 0 else minutes * 60_000


def remember(former: Mapping[int, Ledger], present: TopicLedgers) -> dict[int, Ledger]:
    """What to give as `former` next time: an unbroken run of the topic partition's ledgers, by id."""
    now = present.by_id()
    return {**former, **now} if former.keys() & now.keys() else now


def _lost_entries(start: Position, end: Position, first: int, former: Mapping[int, Ledger]) -> int | None:
    """None where it is not known: some ledger from that of `start` to `first` was not seen, or not seen closed."""
    if start.ledger not in former or first not in former:
        return None
    gone = [ledger for number, ledger in former.items() if start.ledger <= number < first]
    if any(ledger.is_open for ledger in gone):
        return None
    return sum(
        max(0, (end.entry if ledger.id == end.ledger else ledger.entries) - _begin(ledger, start))
        for ledger in gone
        if ledger.id <= end.ledger
    )


def _begin(ledger: Ledger, start: Position) -> int:
    return start.entry if ledger.id == start.ledger else 0


def advanced(
    former: Mapping[TopicPartition, Position], ends: Mapping[TopicPartition, Position], *, fail: bool
) -> tuple[dict[TopicPartition, Position], dict[TopicPartition, Position]]:
    """Where a stream that has read up to `former` stands next, and where partitions begin that it reads anew.

    A partition that is gone or empty by now stays where the query left it. Raises `DataLossError` for one that ends
    before that; with `fail` false it is logged, and read from its first message on.
    """
    positions, starts = dict(former) | dict(ends), {}
    for partition, position in former.items():
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
                "Start with a new checkpoint to read it from a position that you choose, or set "
                "failOnDataLoss=false to read it from its first message on",
                fail=fail,
                consequence="it is read from its first message on",
            )
            starts[partition] = EARLIEST
    return positions, starts


def check_removed(
    starts: Mapping[TopicPartition, Position], removed: Mapping[TopicPartition, RemovedEntries], *, fail: bool
) -> set[TopicPartition]:
    """What a broker says was removed behind the starts of ranges: raises `DataLossError`; with `fail` false it is
    logged, and topics that are gone altogether are returned."""
    for partition, entries in sorted(removed.items()):
        report_loss(_removed_text(partition, starts[partition], entries), _KEEP_LONGER, fail=fail)
    return {partition for partition, entries in removed.items() if entries.first_left is None}


def _removed_text(partition: TopicPartition, start: Position, removed: RemovedEntries) -> str:
    expected = f"{partition}: expected messages from {start}, but"
    if removed.first_left is None:
        return f"{expected} the topic was deleted"
    what = (
        f"at least {removed.entries} entries behind {start} are gone"
        if removed.entries is not None
        else f"the ledger of {start} is gone, and with it whatever it held behind that"
    )
    return (
        f"{expected} the first that are left are at {removed.first_left}: {what}, by retention or truncation, or since "
        f"the topic was deleted and made again"
    )
