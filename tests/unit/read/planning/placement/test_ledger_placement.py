"""The location that each ledger is read from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.ledger import Ensemble, Ledger, LedgerMetadata
from pyspark_pulsar.errors import ConnectionFailed, LedgerUnavailable
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange, compacted_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.placement import on_bookies
from pyspark_pulsar.read.planning.placement.ledger_placement import Placement, find_placement
from pyspark_pulsar.read.sources.bookkeeper import FromBookies

A = TopicPartition.parse("a")
BOOKIES = ("b:1", "b:2", "b:3")
STRIPED = LedgerMetadata(2, "CRC32C", (Ensemble(0, BOOKIES),))
CLOSED = Ledger(7, 10, 100, None, 1000, metadata=STRIPED)
OPEN = Ledger(8, 10, 100, 1000, None)
OFFLOADED = Ledger(6, 10, 100, None, 900, offload_id="u")


def place(read_from: str, ledger: Ledger, *up: str) -> str:
    return Placement(read_from, BOOKIES, frozenset(up)).location_of(A, ledger).name


@pytest.mark.parametrize("read_from", ["auto", "broker", "bookie", "tiered"])
def test_the_open_ledger_is_read_from_the_broker(read_from: str) -> None:
    assert place(read_from, OPEN, *BOOKIES) == "broker"


def test_a_named_location_is_the_only_one() -> None:
    assert place("broker", CLOSED, *BOOKIES) == "broker"
    assert place("bookie", CLOSED) == "bookie"
    with pytest.raises(LedgerUnavailable, match=r"ledger 7: .*not offloaded"):
        place("tiered", CLOSED)


@pytest.mark.parametrize(
    ("up", "found"),
    [(BOOKIES, "bookie"), (BOOKIES[:2], "bookie"), (BOOKIES[:1], "broker"), ((), "broker")],
)
def test_auto_reads_from_bookies_if_a_replica_of_each_entry_is_up(up: tuple[str, ...], found: str) -> None:
    assert place("auto", CLOSED, *up) == found


@pytest.mark.parametrize(
    ("read_from", "held", "found"),
    [("auto", {6}, "bookie"), ("auto", {7}, "broker"), ("bookie", (), "bookie")],
)
def test_an_offloaded_ledger_without_a_readable_copy_is_read_from_bookies_that_keep_it(
    read_from: str, held: set[int], found: str
) -> None:
    """The striping alone proves nothing: bookies that accept connections may have deleted the ledger."""
    striped = replace(OFFLOADED, metadata=STRIPED)
    for ledger in (OFFLOADED, striped):
        location = Placement(read_from, BOOKIES, frozenset(BOOKIES), kept=frozenset(held)).location_of(
            A, ledger
        )
        assert location.name == found
    if held == {6}:
        assert isinstance(location, FromBookies)
        assert location.bookies == ()
        assert Placement("auto", BOOKIES, kept=frozenset(held)).location_of(A, OFFLOADED) == FromBookies(
            OFFLOADED, BOOKIES
        )


def test_a_ledger_counts_as_deleted_if_no_bookie_answers() -> None:
    options = ReadOptions(service_url="pulsar://h:1", topic="a", bookie_timeout_ms=1000)
    assert on_bookies.kept_by_bookies(options, [(A, OFFLOADED)], ["127.0.0.1:1"]) == frozenset()
    assert on_bookies.kept_by_bookies(options, [(A, OFFLOADED)], ["a name that is no address"]) == frozenset()
    assert on_bookies.kept_by_bookies(options, [(A, OFFLOADED)], []) == frozenset()


def test_kept_ledgers_are_searched_from_the_newest_to_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search does not try every ledger that was deleted long ago."""
    asked: list[int] = []

    def is_kept(_: ReadOptions, __: TopicPartition, ledger: Ledger, ___: tuple[str, ...]) -> bool:
        asked.append(ledger.id)
        return ledger.id >= 700

    monkeypatch.setattr(on_bookies, "_is_kept", is_kept)
    options = ReadOptions(service_url="pulsar://h:1", topic="a")
    many = [(A, replace(OFFLOADED, id=number)) for number in range(1000)]
    assert on_bookies.kept_by_bookies(options, many, BOOKIES) == frozenset(range(700, 1000))
    assert min(asked) == 1000 - 3 * 256


def test_a_bookie_must_be_up_for_every_ensemble() -> None:
    striping = LedgerMetadata(2, "CRC32C", (Ensemble(0, BOOKIES), Ensemble(4, ("b:1", "b:8", "b:9"))))
    assert place("auto", Ledger(7, 10, 100, None, 1000, metadata=striping), *BOOKIES) == "broker"


def test_one_bookie_is_enough_for_unknown_striping_and_none_for_a_password_digest() -> None:
    unknown = Ledger(7, 10, 100, None, 1000)
    assert place("auto", unknown, "b:1") == "bookie"
    assert place("auto", unknown) == "broker"
    secret = Ledger(7, 10, 100, None, 1000, metadata=LedgerMetadata(2, "HMAC", STRIPED.ensembles))
    assert place("auto", secret, *BOOKIES) == "broker"


def test_a_location_lists_all_bookies_only_if_the_striping_is_unknown() -> None:
    placement = Placement("bookie", BOOKIES)
    for ledger, bookies in ((CLOSED, ()), (Ledger(7, 10, 100, None, 1000), BOOKIES)):
        location = placement.location_of(A, ledger)
        assert isinstance(location, FromBookies)
        assert location.bookies == bookies


VIEW = Ledger(60, 3, 30, None, 0)
KNOWN = TopicLedgers((Ledger(6, 10, 100, None, 900), OPEN), VIEW, Position(6, 4))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (
            EARLIEST,
            Position(8, 5),
            [("earliest", "6:4:0", 60), ("6:4:0", "6:10:0", 6), ("8:0:0", "8:5:0", 8)],
        ),
        (Position(5, 2), Position(6, 1), [("5:2:0", "6:1:0", 60)]),
        (Position(6, 4), Position(6, 9), [("6:4:0", "6:9:0", 6)]),
    ],
)
def test_a_compacted_view_is_read_before_the_ledgers(
    start: Position, end: Position, expected: list[tuple[str, str, int]]
) -> None:
    found = compacted_ranges(KNOWN, start, end)
    assert [(str(each.start), str(each.end), each.ledger and each.ledger.id) for each in found] == expected
    assert all(each.is_compacted == (each.ledger is VIEW) for each in found)


def test_an_unclear_compacted_view_is_read_from_the_broker() -> None:
    unclear = TopicLedgers(KNOWN.ledgers, compaction_is_clear=False)
    for known in (None, unclear):
        assert compacted_ranges(known, EARLIEST, Position(8, 5)) == [
            LedgerRange(EARLIEST, Position(8, 5), None)
        ]


@pytest.mark.parametrize(
    ("read_from", "up", "found"),
    [
        ("bookie", (), "compacted"),
        ("auto", ("b:1",), "compacted"),
        ("auto", (), "broker"),
        ("broker", (), "broker"),
    ],
)
def test_a_compacted_view_is_read_from_bookies_if_one_may_be_up(
    read_from: str, up: tuple[str, ...], found: str
) -> None:
    parts = compacted_ranges(KNOWN, EARLIEST, Position(6, 4))
    located = Placement(read_from, BOOKIES, frozenset(up)).locate(A, parts, KNOWN)
    assert [each.location.name for each in located] == [found]
    assert located[0].entries == 1


def test_a_compacted_view_is_never_in_tiered_storage() -> None:
    parts = compacted_ranges(KNOWN, EARLIEST, Position(6, 4))
    with pytest.raises(LedgerUnavailable, match="never offloaded"):
        Placement("tiered").locate(A, parts, KNOWN)


@pytest.mark.parametrize("ledger", [Ledger(7, 10, 100, None, 1000), OFFLOADED])
def test_auto_plans_without_answers_of_the_admin_api(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = {A: (TopicLedgers((ledger, OPEN)), {ledger.id})}
    options = ReadOptions(
        service_url="pulsar://h:1", admin_url="http://127.0.0.1:1", topic="a", operation_timeout_ms=1
    )
    with AdminClient(options) as admin:
        placement, known = find_placement(options, admin, wanted)
    assert known == {A: wanted[A][0]}
    assert placement.location_of(A, ledger).name == "broker"
    assert "cannot be reached" in caplog.text


@pytest.mark.parametrize(("read_from", "ledger"), [("bookie", CLOSED), ("tiered", OFFLOADED)])
def test_a_named_location_needs_an_answer_of_the_admin_api(read_from: str, ledger: Ledger) -> None:
    wanted = {A: (TopicLedgers((ledger, OPEN)), {ledger.id})}
    options = ReadOptions(
        service_url="pulsar://h:1",
        admin_url="http://127.0.0.1:1",
        topic="a",
        operation_timeout_ms=1,
        read_from=read_from,
    )
    with AdminClient(options) as admin, pytest.raises(ConnectionFailed):
        find_placement(options, admin, wanted)
