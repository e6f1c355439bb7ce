"""The ledgers of topic partitions as they are now, from the admin REST API. Driver only.

Two resources are put together, since neither says all: `internal-info` knows when a ledger was closed, with how many
entries, and under which id it was offloaded, but calls one offloaded whose offload has failed, and is not sorted;
`internalStats` knows which ledgers are there, what is offloaded whole, and how far the open ledger is written. Both
are asked for at once: a long list takes a broker its time. Of many topic partitions the second is asked for first: of
one that has no ledger but the open one, the first has nothing to say but when the topic was made. Where the striping of
a few is to be told too, the first comes first: it says how many ledgers a broker would have to open for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.ledger_metadata import parse_ledger_metadata
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, ProtocolError, PulsarError
from pyspark_pulsar.model.position import Position, after_entry
from pyspark_pulsar.model.topic import TopicPartition

_AT_ONCE: Final = 8
_FEW: Final = 100
_LARGE_PART: Final = 4
_OPEN: Final = "LedgerOpened"
_UNTOLD: Final = (PermissionDenied, ConnectionFailed, ProtocolError)
_NO_INFO: Final[Mapping[str, Any]] = {"ledgers": ()}


@dataclass(frozen=True, slots=True)
class TopicLedgers:
    """The ledgers of one topic partition at one time."""

    ledgers: tuple[Ledger, ...]
    """In their order; those that retention has removed are not among them."""
    compacted: Ledger | None = None
    """The compacted view, as far as `compacted_until`."""
    compacted_until: Position | None = None
    """Behind the last message that compaction has seen."""
    compaction_is_clear: bool = True
    """False while a compaction ends: what the broker says of the view and of its end do not belong together."""
    created: str | None = None
    """When the topic partition was made, such as `2026-01-31T08:00:00.000Z`; None where the broker does not tell."""

    striping_fault: PulsarError | None = field(default=None, compare=False)
    """Why brokers have not told where its ledgers lie, where they were asked."""

    def by_id(self) -> dict[int, Ledger]:
        return {ledger.id: ledger for ledger in self.ledgers}

    def lacks_striping(self, ids: Collection[int]) -> bool:
        """Whether brokers were not asked yet where some of these ledgers lie."""
        return self.striping_fault is None and any(
            ledger.metadata is None and ledger.id in ids for ledger in self.ledgers
        )


def fetch_ledgers(
    admin: AdminClient, partitions: Iterable[TopicPartition], *, with_created: bool = True
) -> dict[TopicPartition, TopicLedgers]:
    """All partitions, some at a time. `with_created` false: nobody wants to know `created`. Raises the errors of
    `AdminClient`."""
    listed = list(partitions)
    if 2 * len(listed) > _AT_ONCE:
        # An answer of thousands of ledgers takes many times the memory of what is kept of it. So each is taken
        # apart where it comes. `map` and not `begin`: what waits is not asked any more when one has failed.
        fetch = partial(fetch_one, admin, with_created=with_created)
        return dict(zip(listed, admin.map(fetch, listed), strict=True))
    # Of a few, both answers of each come at the same time.
    infos = admin.map(admin.topics.internal_info, listed)
    stats = admin.map(admin.topics.internal_stats, listed)
    return {
        partition: parse_ledgers(info, stat, _reading(partition))
        for partition, info, stat in zip(listed, infos, stats, strict=True)
    }


def fetch_striped(admin: AdminClient, partition: TopicPartition) -> TopicLedgers:
    """One partition, with the striping of its closed ledgers, where these are few and not all offloaded. What brokers
    do not tell of it is in `striping_fault`. Raises the errors of `AdminClient`."""
    info = admin.topics.internal_info(partition)
    stats, fault = _stats_with_striping(admin, partition) if _is_striping_cheap(info) else (None, None)
    if stats is None:
        stats = admin.topics.internal_stats(partition)
    known = parse_ledgers(info, stats, _reading(partition))
    if any(ledger.is_open for ledger in known.ledgers[:-1]):
        # For the second question a broker has loaded the topic, and so closed the ledger that was the last one.
        known = parse_ledgers(admin.topics.internal_info(partition), stats, _reading(partition))
    return replace(with_striping(known, stats), striping_fault=fault)


def _stats_with_striping(
    admin: AdminClient, partition: TopicPartition
) -> tuple[dict[str, Any] | None, PulsarError | None]:
    try:
        return admin.topics.internal_stats(partition, metadata=True), None
    except _UNTOLD as fault:
        return None, fault


def _is_striping_cheap(info: Mapping[str, Any]) -> bool:
    ledgers = info.get("ledgers") or ()
    return len(ledgers) <= _FEW and any(
        ledger.get("entries") is not None and not ledger.get("offloadedContextUuid") for ledger in ledgers
    )


def fetch_one(admin: AdminClient, partition: TopicPartition, *, with_created: bool = True) -> TopicLedgers:
    """As `fetch_ledgers`, in the calling thread."""
    stats = admin.topics.internal_stats(partition)
    is_one_open = stats.get("state") == _OPEN and len(stats.get("ledgers") or ()) == 1
    info = _NO_INFO if is_one_open and not with_created else admin.topics.internal_info(partition)
    return parse_ledgers(info, stats, _reading(partition))


def _reading(partition: TopicPartition) -> str:
    return f"reading the ledgers of {partition}"


def fetch_striping(
    admin: AdminClient,
    chosen: Mapping[TopicPartition, tuple[TopicLedgers, set[int]]],
    *,
    at_any_cost: bool = False,
) -> dict[TopicPartition, TopicLedgers]:
    """The same ledgers with their `striping`, where asking for it is not out of proportion to what is read of them
    (or `at_any_cost`): the broker opens all ledgers of a topic partition for it. `chosen`: the ids of the ledgers that
    will be read.
    """
    worth = [
        partition
        for partition, (known, ids) in chosen.items()
        if known.lacks_striping(ids) and (at_any_cost or is_cheap(known, ids))
    ]
    striped = admin.map(lambda partition: _striped(admin, partition, chosen[partition][0]), worth)
    answered = dict(zip(worth, striped, strict=True))
    return {partition: answered.get(partition, known) for partition, (known, _) in chosen.items()}


def is_cheap(known: TopicLedgers, ids: Collection[int]) -> bool:
    """Whether asking for the striping of so many of its ledgers is in proportion to reading them."""
    return len(known.ledgers) <= max(_FEW, _LARGE_PART * len(ids))


def _striped(admin: AdminClient, partition: TopicPartition, known: TopicLedgers) -> TopicLedgers:
    return with_striping(known, admin.topics.internal_stats(partition, metadata=True))


def with_striping(known: TopicLedgers, stats: Mapping[str, Any]) -> TopicLedgers:
    """`known` with the ensembles that an answer with metadata gives."""
    texts = {ledger.get("ledgerId"): ledger.get("metadata") for ledger in stats.get("ledgers", ())}

    def filled(ledger: Ledger) -> Ledger:
        text = texts.get(ledger.id)
        return replace(ledger, metadata=parse_ledger_metadata(text)) if isinstance(text, str) else ledger

    return replace(known, ledgers=tuple(filled(ledger) for ledger in known.ledgers))


def parse_ledgers(info: Mapping[str, Any], stats: Mapping[str, Any], where: str) -> TopicLedgers:
    """From the answers of `internal-info` and `internalStats`, given at about the same time in whatever order.

    Raises `ProtocolError`; `where` begins its text.
    """
    try:
        facts = {int(ledger["ledgerId"]): ledger for ledger in info["ledgers"]}
        # Instead of a time that is not written down, as that of the open ledger, brokers give the present.
        asked_at = {ledger.get("timestamp") for ledger in facts.values() if ledger.get("entries") is None}
        facts |= {
            number: {**ledger, "timestamp": 0}
            for number, ledger in facts.items()
            if ledger.get("timestamp") in asked_at
        }
        present = sorted(stats["ledgers"], key=lambda ledger: int(ledger["ledgerId"]))
        ledgers: list[Ledger] = []
        for index, ledger in enumerate(present):
            is_last = index == len(present) - 1
            opened = ledgers[-1].closed_ms or None if ledgers else None
            ledgers.append(
                _ledger(ledger, facts.get(int(ledger["ledgerId"]), {}), opened, stats, is_last=is_last)
            )
        compaction = _compacted(stats)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ProtocolError(
            f"{where}: expected ledgers as Pulsar 3.0 and later list them, got another answer ({fault!r})"
        ) from None
    return TopicLedgers(tuple(ledgers), *compaction, created=_instant(info.get("creationDate")))


def _instant(told: Any) -> str | None:
    """A moment in one form, since each broker writes it in its own time zone, with as many digits as it needs."""
    if told is None:
        return None
    try:
        moment = datetime.fromisoformat(str(told))
        if moment.tzinfo is None:
            return str(told)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return str(told)


def _ledger(
    stats: Mapping[str, Any],
    info: Mapping[str, Any],
    opened_ms: int | None,
    topic: Mapping[str, Any],
    *,
    is_last: bool,
) -> Ledger:
    # Only a closed ledger has its number of entries in the metadata store. One that was closed between the two
    # answers counts as open: nothing is known of its end.
    is_closed = info.get("entries") is not None and not (is_last and topic.get("state") == _OPEN)
    if is_closed:
        entries, size = int(info["entries"]), int(info.get("size", stats["size"]))
    elif is_last:
        # The list shows nothing of the open ledger; the topic's own numbers do.
        entries, size = int(topic["currentLedgerEntries"]), int(topic["currentLedgerSize"])
    else:
        entries, size = int(stats["entries"]), int(stats["size"])
    return Ledger(
        int(stats["ledgerId"]),
        entries,
        size,
        opened_ms=opened_ms,
        closed_ms=int(info.get("timestamp") or 0) if is_closed else None,
        offload_id=str(info["offloadedContextUuid"]) if _is_offloaded(stats, info, is_closed) else None,
    )


def _is_offloaded(stats: Mapping[str, Any], info: Mapping[str, Any], is_closed: bool) -> bool:
    return is_closed and stats.get("offloaded") is True and bool(info.get("offloadedContextUuid"))


def _compacted(stats: Mapping[str, Any]) -> tuple[Ledger | None, Position | None, bool]:
    """The compacted view, its end, and whether the two belong together."""
    compacted = stats.get("compactedLedger") or {}
    cursor = (stats.get("cursors") or {}).get("__compaction") or {}
    number = int(compacted.get("ledgerId", -1))
    if number < 0 and "CompactedTopicLedger" not in (cursor.get("properties") or {}):
        return None, None, True
    if number < 0 or (cursor.get("properties") or {}).get("CompactedTopicLedger") != number:
        return None, None, False
    ledger, entry = (int(part) for part in str(cursor["markDeletePosition"]).split(":"))
    view = Ledger(number, int(compacted["entries"]), int(compacted["size"]), opened_ms=None, closed_ms=0)
    return view, after_entry(ledger, entry), True
