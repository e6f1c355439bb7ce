"""The merge of the two admin REST answers about ledgers, with each of their traps (answers of Pulsar 4.0.8)."""

from __future__ import annotations

import copy
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, ProtocolError, PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import (
    fetch_ledgers,
    fetch_striped,
    fetch_striping,
    parse_ledgers,
    with_striping,
)

INFO: dict[str, Any] = {
    "version": 12,
    "ledgers": [
        {
            "ledgerId": 3,
            "entries": 10,
            "size": 100,
            "timestamp": 1000,
            "isOffloaded": True,
            "offloadedContextUuid": "u3",
        },
        {"ledgerId": 46, "timestamp": 9999, "isOffloaded": False},
        {
            "ledgerId": 7,
            "entries": 5,
            "size": 50,
            "timestamp": 2000,
            "isOffloaded": True,
            "offloadedContextUuid": "u7",
        },
    ],
    "cursors": {},
}
STATS: dict[str, Any] = {
    "currentLedgerEntries": 4,
    "currentLedgerSize": 44,
    "lastConfirmedEntry": "46:3",
    "state": "LedgerOpened",
    "ledgers": [
        {"ledgerId": 3, "entries": 10, "size": 100, "offloaded": True, "underReplicated": False},
        {"ledgerId": 7, "entries": 5, "size": 50, "offloaded": False, "underReplicated": False},
        {"ledgerId": 46, "entries": 0, "size": 0, "offloaded": False, "underReplicated": False},
    ],
    "cursors": {},
    "compactedLedger": {"ledgerId": -1, "entries": -1, "size": -1, "offloaded": False},
}


def parsed(info: dict[str, Any] = INFO, stats: dict[str, Any] = STATS) -> tuple[Ledger, ...]:
    return parse_ledgers(info, stats, "reading x").ledgers


def test_ledgers_are_sorted_and_have_their_times_and_sizes() -> None:
    assert parsed() == (
        Ledger(3, 10, 100, opened_ms=None, closed_ms=1000, offload_id="u3"),
        # An offload that runs or has failed has an id, but its copy is not complete.
        Ledger(7, 5, 50, opened_ms=1000, closed_ms=2000, offload_id=None),
        Ledger(46, 4, 44, opened_ms=2000, closed_ms=None, offload_id=None),
    )


def test_a_ledger_that_closes_between_the_two_requests_counts_as_open() -> None:
    stats = copy.deepcopy(STATS)
    stats["ledgers"][2] |= {"entries": 6, "size": 66}
    stats["ledgers"].append({"ledgerId": 50, "entries": 0, "size": 0, "offloaded": False})
    assert parsed(stats=stats)[2:] == (
        Ledger(46, 6, 66, opened_ms=2000, closed_ms=None),
        Ledger(50, 4, 44, opened_ms=None, closed_ms=None),
    )


def test_the_size_of_a_closing_ledger_is_the_one_in_the_metadata_store() -> None:
    """The result does not depend on which answer is the older one."""
    info, stats = copy.deepcopy(INFO), copy.deepcopy(STATS)
    info["ledgers"][1] |= {"entries": 6, "size": 66}
    still_open = Ledger(46, 4, 44, opened_ms=2000, closed_ms=None)
    assert parsed(info, stats)[2:] == (still_open,)
    stats["state"] = "ClosingLedger"
    closed = Ledger(46, 6, 66, opened_ms=2000, closed_ms=9999)
    assert parsed(info, stats)[2:] == (closed,)
    info["ledgers"].append({"ledgerId": 50, "timestamp": 10_500, "isOffloaded": False})
    assert parsed(info, stats)[2:] == (closed,)


def test_a_ledger_that_is_missing_in_the_metadata_store_counts_as_open() -> None:
    info = copy.deepcopy(INFO)
    del info["ledgers"][0]
    assert parsed(info)[0] == Ledger(3, 10, 100, opened_ms=None, closed_ms=None)


def test_the_last_ledger_of_a_terminated_topic_is_closed() -> None:
    info, stats = copy.deepcopy(INFO), copy.deepcopy(STATS)
    info["ledgers"][1] |= {"entries": 4, "size": 44}
    stats["state"] = "Terminated"
    stats["ledgers"][2] |= {"entries": 4, "size": 44}
    assert parsed(info, stats)[-1] == Ledger(46, 4, 44, opened_ms=2000, closed_ms=9999)


def test_a_closed_ledger_without_a_time_has_time_zero() -> None:
    info = copy.deepcopy(INFO)
    # The last value is the time of the request, as brokers report it for the open ledger.
    for timestamp in (None, 0, 9999):
        info["ledgers"][2]["timestamp"] = timestamp
        third = parsed(info)[1:]
        assert (third[0].closed_ms, third[0].is_open, third[1].opened_ms) == (0, False, None)
    del info["ledgers"][2]["timestamp"]
    assert parsed(info)[1].closed_ms == 0


def test_a_ledger_that_is_removed_between_the_two_requests_is_left_out() -> None:
    stats = copy.deepcopy(STATS)
    del stats["ledgers"][0]
    assert [ledger.id for ledger in parsed(stats=stats)] == [7, 46]
    assert parsed(stats=stats)[0].opened_ms is None


def test_the_compacted_view_and_its_end_are_read() -> None:
    stats = STATS | {
        "compactedLedger": {"ledgerId": 60, "entries": 3, "size": 30, "offloaded": False},
        "cursors": {
            "__compaction": {"markDeletePosition": "7:4", "properties": {"CompactedTopicLedger": 60}}
        },
    }
    found = parse_ledgers(INFO, stats, "reading x")
    assert found.compacted is not None
    assert (found.compacted.id, found.compacted.entries, found.compacted.is_open) == (60, 3, False)
    assert found.compacted_until == Position(7, 5)
    assert found.compaction_is_clear
    plain = parse_ledgers(INFO, STATS, "reading x")
    assert (plain.compacted, plain.compaction_is_clear) == (None, True)


@pytest.mark.parametrize(
    ("told", "created"),
    [
        ("2026-01-31T08:00:00.26Z", "2026-01-31T08:00:00.260Z"),
        ("2026-01-31T10:00:00.260123+02:00", "2026-01-31T08:00:00.260Z"),
        ("2026-01-31T08:00:00", "2026-01-31T08:00:00"),
        ("some day", "some day"),
        (None, None),
    ],
)
def test_the_creation_time_has_one_form_for_all_brokers(told: str | None, created: str | None) -> None:
    assert parse_ledgers(INFO | {"creationDate": told}, STATS, "reading x").created == created


def test_a_compacted_view_that_does_not_match_its_end_is_unclear() -> None:
    cursors = {"__compaction": {"markDeletePosition": "7:4", "properties": {"CompactedTopicLedger": 61}}}
    former = {"ledgerId": 60, "entries": 3, "size": 30, "offloaded": False}
    for stats in (STATS | {"cursors": cursors}, STATS | {"cursors": cursors, "compactedLedger": former}):
        found = parse_ledgers(INFO, stats, "reading x")
        assert (found.compacted, found.compaction_is_clear) == (None, False)


def test_the_reported_striping_is_added_to_ledgers() -> None:
    text = "LedgerMetadata{writeQuorumSize=1, digestType=CRC32C, ensembles={0=[b:1]}, customMetadata={}}"
    answer = {
        "ledgers": [{"ledgerId": 7, "metadata": text}, {"ledgerId": 3}, {"ledgerId": 99, "metadata": text}]
    }
    found = with_striping(parse_ledgers(INFO, STATS, "reading x"), answer)
    assert [ledger.metadata is not None for ledger in found.ledgers] == [False, True, False]


@pytest.mark.parametrize(
    ("info", "stats"),
    [
        ({}, STATS),
        (INFO, {}),
        (INFO, STATS | {"ledgers": None}),
        (INFO, STATS | {"currentLedgerEntries": None}),
        (INFO | {"ledgers": [5]}, STATS),
        (INFO, STATS | {"ledgers": [{"ledgerId": "x"}]}),
    ],
)
def test_an_unknown_answer_is_a_protocol_error(info: dict[str, Any], stats: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="reading x"):
        parse_ledgers(info, stats, "reading x")


class _Marker:
    """A marker that lives as long as the answer that contains it."""


class _Topics:
    """A server that answers for any topic partition, and counts the answers that live at the same time."""

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[_Marker] = weakref.WeakSet()
        self.asked: list[TopicPartition] = []
        self.most_alive = 0

    def internal_info(self, partition: TopicPartition) -> dict[str, Any]:
        return self._answer(partition, INFO)

    def internal_stats(self, partition: TopicPartition, *, metadata: bool = False) -> dict[str, Any]:
        del metadata
        return self._answer(partition, STATS)

    def _answer(self, partition: TopicPartition, told: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(partition)
        held = _Marker()
        self._alive.add(held)
        self.most_alive = max(self.most_alive, len(self._alive))
        return {**copy.deepcopy(told), "held": held}


def admin_of(topics: _Topics, pool: ThreadPoolExecutor) -> Any:
    return SimpleNamespace(topics=topics, map=pool.map, begin=pool.submit)


@pytest.mark.parametrize("count", [1, 4, 5, 300])
def test_many_topic_partitions_are_fetched_without_keeping_all_answers(count: int) -> None:
    partitions = [TopicPartition(TopicName.parse(f"persistent://a/b/t{n}"), -1) for n in range(count)]
    topics = _Topics()
    with ThreadPoolExecutor(8) as pool:
        fetched = fetch_ledgers(admin_of(topics, pool), partitions)
    assert list(fetched) == partitions
    assert set(fetched.values()) == {parse_ledgers(INFO, STATS, "here")}
    assert sorted(topics.asked) == sorted([*partitions, *partitions])
    assert topics.most_alive <= 24


@pytest.mark.parametrize(
    ("state", "ledgers", "with_created", "asked"),
    [
        ("LedgerOpened", 1, False, 1),
        ("LedgerOpened", 1, True, 2),
        ("LedgerOpened", 2, False, 2),
        ("ClosedLedger", 1, False, 2),
        ("Terminated", 1, False, 2),
    ],
)
def test_one_request_is_enough_for_a_partition_with_only_an_open_ledger(
    state: str, ledgers: int, with_created: bool, asked: int
) -> None:
    class Topics(_Topics):
        def internal_info(self, partition: TopicPartition) -> dict[str, Any]:
            told = [{"ledgerId": 7, "entries": 10, "size": 100, "timestamp": 5}] if ledgers == 2 else []
            return self._answer(partition, {"ledgers": [*told, {"ledgerId": 8, "timestamp": 9}]})

        def internal_stats(self, partition: TopicPartition, *, metadata: bool = False) -> dict[str, Any]:
            del metadata
            told = [{"ledgerId": number, "entries": 0, "size": 0} for number in range(9 - ledgers, 9)]
            numbers = {"currentLedgerEntries": 3, "currentLedgerSize": 300}
            return self._answer(partition, {"state": state, **numbers, "ledgers": told})

    partitions = [TopicPartition(TopicName.parse(f"persistent://a/b/t{n}"), -1) for n in range(20)]
    topics = Topics()
    with ThreadPoolExecutor(8) as pool:
        fetched = fetch_ledgers(admin_of(topics, pool), partitions, with_created=with_created)
    assert len(topics.asked) == asked * len(partitions)
    for known in fetched.values():
        last = known.ledgers[-1]
        assert (last.id, last.entries, last.size, last.is_open) == (8, 3, 300, True)


METADATA = (
    "LedgerMetadata{formatVersion=3, ensembleSize=1, writeQuorumSize=1, ackQuorumSize=1, state=CLOSED, length=100, "
    "lastEntryId=9, digestType=CRC32C, password=base64:, ensembles={0=[b:3181]}, customMetadata={}}"
)
LIST = {"currentLedgerEntries": 3, "currentLedgerSize": 300, "state": "LedgerOpened"}


class _Striped:
    """A topic with `closed` ledgers and an open one after them. A request for the striping raises `refused`."""

    def __init__(
        self, closed: int, *, offload_id: str | None = None, refused: PulsarError | None = None
    ) -> None:
        self._closed, self._offload_id, self._refused = closed, offload_id, refused
        self.asked: list[str] = []

    def internal_info(self, partition: TopicPartition) -> dict[str, Any]:
        self.asked.append("info")
        known = {"entries": 10, "size": 100, "timestamp": 5, "offloadedContextUuid": self._offload_id}
        closed = [{"ledgerId": number, **known} for number in range(self._closed)]
        return {"ledgers": [*closed, {"ledgerId": self._closed, "timestamp": 9}]}

    def internal_stats(self, partition: TopicPartition, *, metadata: bool = False) -> dict[str, Any]:
        self.asked.append("striping" if metadata else "stats")
        if metadata and self._refused is not None:
            raise self._refused
        striping = {"metadata": METADATA} if metadata else {}
        known = {"entries": 10, "size": 100, "offloaded": self._offload_id is not None}
        return LIST | {
            "ledgers": [{"ledgerId": number, **known, **striping} for number in range(self._closed + 1)]
        }


@pytest.mark.parametrize(
    ("topic", "asked", "is_striped"),
    [
        (_Striped(2), ["info", "striping"], True),
        (_Striped(99), ["info", "striping"], True),
        (_Striped(100), ["info", "stats"], False),
        (_Striped(0), ["info", "stats"], False),
        (_Striped(2, offload_id="u"), ["info", "stats"], False),
        (_Striped(2, refused=PermissionDenied("no")), ["info", "striping", "stats"], False),
        (_Striped(2, refused=ConnectionFailed("down")), ["info", "striping", "stats"], False),
    ],
)
def test_the_striping_is_fetched_with_the_list_if_the_ledgers_are_few(
    topic: _Striped, asked: list[str], is_striped: bool
) -> None:
    partition = TopicPartition(TopicName.parse("persistent://a/b/c"), -1)
    admin: Any = SimpleNamespace(topics=topic, map=map)
    known = fetch_striped(admin, partition)
    assert topic.asked == asked
    assert all((ledger.metadata is not None) == is_striped for ledger in known.ledgers if not ledger.is_open)
    assert (known.striping_fault is None) == (asked[-2] != "striping")
    ids = {ledger.id for ledger in known.ledgers if not ledger.is_open}
    again = fetch_striping(admin, {partition: (known, ids)})
    told_or_refused = is_striped or known.striping_fault is not None
    assert topic.asked[len(asked) :] == ([] if told_or_refused or not ids else ["striping"])
    if ids and known.striping_fault is None:
        assert all(ledger.metadata is not None for ledger in again[partition].ledgers if ledger.id in ids)


def test_a_ledger_that_closes_because_the_second_request_loads_the_topic_is_closed() -> None:
    class Unloaded(_Striped):
        def internal_info(self, partition: TopicPartition) -> dict[str, Any]:
            info = super().internal_info(partition)
            return info if "stats" in self.asked else {"ledgers": [{"ledgerId": 0, "timestamp": 9}]}

    topic = Unloaded(1)
    partition = TopicPartition(TopicName.parse("persistent://a/b/c"), -1)
    admin: Any = SimpleNamespace(topics=topic, map=map)
    known = fetch_striped(admin, partition)
    assert [(ledger.id, ledger.is_open) for ledger in known.ledgers] == [(0, False), (1, True)]
    assert topic.asked == ["info", "stats", "info"]
