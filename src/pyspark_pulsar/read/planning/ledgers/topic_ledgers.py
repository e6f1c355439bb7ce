"""The current ledgers of topic partitions, from the admin REST API. Driver only.

This module merges two resources, because neither contains all facts:

  * `internal-info` contains the closing time of a ledger, its number of entries, and its id in tiered storage. The
    ledgers in this resource are not sorted. An offload id is also present if the offload of a ledger failed.
  * `internalStats` contains the existing ledgers, which of them are completely offloaded, and the size of the open
    ledger so far.

Answers with many ledgers are slow. So for few topic partitions, both resources are requested at the same time. For many
topic partitions, `internalStats` is requested first. If a partition has only the open ledger, `internal-info` adds only
the creation time. If the striping (the bookies of each entry) is needed too, `internal-info` is requested first. This
answer shows how many ledgers a broker would have to open to report the striping.
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
_REFUSALS: Final = (PermissionDenied, ConnectionFailed, ProtocolError)
_NO_INFO: Final[Mapping[str, Any]] = {"ledgers": ()}


@dataclass(frozen=True, slots=True)
class TopicLedgers:
    """The ledgers of one topic partition at one point in time."""

    ledgers: tuple[Ledger, ...]
    """The existing ledgers, sorted by id."""
    compacted: Ledger | None = None
    """The compacted view, which covers the topic up to `compacted_until`."""
    compacted_until: Position | None = None
    """The position after the last message that compaction has read; None without a compacted view."""
    compaction_is_clear: bool = True
    """False while a compaction finishes, because the reported view and the reported end do not belong together then."""
    created: str | None = None
    """The creation time of the topic partition, such as `2026-01-31T08:00:00.000Z`; None if it is not reported."""

    striping_fault: PulsarError | None = field(default=None, compare=False)
    """The error with which brokers refused to report the striping; None without such an error."""

    def by_id(self) -> dict[int, Ledger]:
        return {ledger.id: ledger for ledger in self.ledgers}

    def lacks_striping(self, ids: Collection[int]) -> bool:
        """Return whether the striping of some of these ledgers is unknown and has not been requested yet."""
        return self.striping_fault is None and any(
            ledger.metadata is None and ledger.id in ids for ledger in self.ledgers
        )


def fetch_ledgers(
    admin: AdminClient, partitions: Iterable[TopicPartition], *, with_created: bool = True
) -> dict[TopicPartition, TopicLedgers]:
    """Return the ledgers of all partitions. Several partitions are requested at the same time.

    With `with_created` false, `created` may be None. The errors of `AdminClient` are raised.
    """
    listed = list(partitions)
    if 2 * len(listed) > _AT_ONCE:
        # An answer with thousands of ledgers needs many times the memory of its parsed form. So each thread parses its
        # answer. After one request has failed, `map` does not send the remaining requests, but `begin` would.
        fetch = partial(fetch_one, admin, with_created=with_created)
        return dict(zip(listed, admin.map(fetch, listed), strict=True))
    # For a few partitions, both resources are requested at the same time.
    infos = admin.map(admin.topics.internal_info, listed)
    stats = admin.map(admin.topics.internal_stats, listed)
    return {
        partition: parse_ledgers(info, stat, _reading(partition))
        for partition, info, stat in zip(listed, infos, stats, strict=True)
    }


def fetch_striped(admin: AdminClient, partition: TopicPartition) -> TopicLedgers:
    """Return the ledgers of one partition, with their striping if the ledgers are few and not all offloaded.

    If brokers do not report the striping, `striping_fault` is the reason. The errors of `AdminClient` are raised.
    """
    info = admin.topics.internal_info(partition)
    stats, fault = _stats_with_striping(admin, partition) if _is_striping_cheap(info) else (None, None)
    if stats is None:
        stats = admin.topics.internal_stats(partition)
    known = parse_ledgers(info, stats, _reading(partition))
    if any(ledger.is_open for ledger in known.ledgers[:-1]):
        # The request for the striping made a broker load the topic, which closes the last ledger.
        known = parse_ledgers(admin.topics.internal_info(partition), stats, _reading(partition))
    return replace(with_striping(known, stats), striping_fault=fault)


def _stats_with_striping(
    admin: AdminClient, partition: TopicPartition
) -> tuple[dict[str, Any] | None, PulsarError | None]:
    try:
        return admin.topics.internal_stats(partition, metadata=True), None
    except _REFUSALS as fault:
        return None, fault


def _is_striping_cheap(info: Mapping[str, Any]) -> bool:
    ledgers = info.get("ledgers") or ()
    return len(ledgers) <= _FEW and any(
        ledger.get("entries") is not None and not ledger.get("offloadedContextUuid") for ledger in ledgers
    )


def fetch_one(admin: AdminClient, partition: TopicPartition, *, with_created: bool = True) -> TopicLedgers:
    """Return the ledgers of one partition, requested in the calling thread. `fetch_ledgers` has the same arguments."""
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
    """Return the ledgers in `chosen`, with their striping where its request is cheap compared to the read.

    With `at_any_cost`, the striping is always requested. To report it, a broker opens all ledgers of a topic partition.

    Args:
        admin: Any admin client.
        chosen: The ledgers of each topic partition, and the ids of the ledgers to read.
        at_any_cost: Whether to request the striping of all partitions.

    """
    cheap = [
        partition
        for partition, (known, ids) in chosen.items()
        if known.lacks_striping(ids) and (at_any_cost or is_cheap(known, ids))
    ]
    striped = admin.map(lambda partition: _striped(admin, partition, chosen[partition][0]), cheap)
    answered = dict(zip(cheap, striped, strict=True))
    return {partition: answered.get(partition, known) for partition, (known, _) in chosen.items()}


def is_cheap(known: TopicLedgers, ids: Collection[int]) -> bool:
    """Return whether requesting the striping is cheap compared to reading the ledgers with these ids."""
    return len(known.ledgers) <= max(_FEW, _LARGE_PART * len(ids))


def _striped(admin: AdminClient, partition: TopicPartition, known: TopicLedgers) -> TopicLedgers:
    return with_striping(known, admin.topics.internal_stats(partition, metadata=True))


def with_striping(known: TopicLedgers, stats: Mapping[str, Any]) -> TopicLedgers:
    """Return `known` with the striping from `stats`, an answer of `internalStats` that contains metadata."""
    texts = {ledger.get("ledgerId"): ledger.get("metadata") for ledger in stats.get("ledgers", ())}

    def filled(ledger: Ledger) -> Ledger:
        text = texts.get(ledger.id)
        return replace(ledger, metadata=parse_ledger_metadata(text)) if isinstance(text, str) else ledger

    return replace(known, ledgers=tuple(filled(ledger) for ledger in known.ledgers))


def parse_ledgers(info: Mapping[str, Any], stats: Mapping[str, Any], where: str) -> TopicLedgers:
    """Merge the answers of `internal-info` and `internalStats`, requested at about the same time in any order.

    Raises `ProtocolError`, whose text begins with `where`.
    """
    try:
        facts = {int(ledger["ledgerId"]): ledger for ledger in info["ledgers"]}
        # If a time is unknown, such as the closing time of the open ledger, brokers report the present time instead.
        requested_at = {ledger.get("timestamp") for ledger in facts.values() if ledger.get("entries") is None}
        facts |= {
            number: {**ledger, "timestamp": 0}
            for number, ledger in facts.items()
            if ledger.get("timestamp") in requested_at
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
            f"{where}: expected ledgers as Pulsar 3.0 and later list them, got another answer ({fault!r}); "
            f"check that admin.url names the admin REST API of Pulsar"
        ) from None
    return TopicLedgers(tuple(ledgers), *compaction, created=_instant(info.get("creationDate")))


def _instant(reported: Any) -> str | None:
    """Return the time in a common form, because brokers differ in their time zones and numbers of digits."""
    if reported is None:
        return None
    try:
        moment = datetime.fromisoformat(str(reported))
        if moment.tzinfo is None:
            return str(reported)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return str(reported)


def _ledger(
    stats: Mapping[str, Any],
    info: Mapping[str, Any],
    opened_ms: int | None,
    topic: Mapping[str, Any],
    *,
    is_last: bool,
) -> Ledger:
    # Only a closed ledger has a number of entries in the metadata store. A ledger that was closed between the two
    # answers is treated as open, because its end is unknown.
    is_closed = info.get("entries") is not None and not (is_last and topic.get("state") == _OPEN)
    if is_closed:
        entries, size = int(info["entries"]), int(info.get("size", stats["size"]))
    elif is_last:
        # The list does not contain the size of the open ledger, but the answer about the topic does.
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
    """Return the compacted view, its end, and whether both belong to the same compaction."""
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
