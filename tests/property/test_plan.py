"""The ranges of the splits cover the requested range once and in order, whatever the ledgers, bounds and
limits are.
"""

import json
import math

from hypothesis import HealthCheck, assume, given, settings, strategies as st
from property.ledger_strategies import positions, topic_ledgers

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.bounds.timestamps import span_of_window
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange, ledger_ranges
from pyspark_pulsar.read.planning.placement.ledger_placement import Placement
from pyspark_pulsar.read.planning.splits.packing import Limits, PartitionRange, cut
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.closed_ledger import ClosedLedger
from pyspark_pulsar.read.split import Split

A = TopicPartition.parse("persistent://public/default/a")
SOME = st.builds(Position, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
partitions = st.builds(
    lambda name, index: TopicPartition.parse(name if index < 0 else f"{name}-partition-{index}"),
    st.sampled_from(["a", "tenant/ns/b", "persistent://x/y/Zoë.1"]),
    st.integers(-1, 3),
)
bounds = st.dictionaries(partitions, st.one_of(st.just(EARLIEST), SOME), max_size=6)
limits = st.builds(
    Limits,
    max_bytes=st.integers(1, 3_000),
    min_splits=st.integers(1, 60),
    max_records=st.one_of(st.none(), st.integers(1, 500)),
)
PLACES = (
    Placement("broker"),
    Placement("bookie"),
    Placement("auto", bookies=("b:1",), up=frozenset({"b:1"})),
)

Message = tuple[int, int, int]
# As many comparisons as messages times splits, on a machine that may be busy.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def messages(ledgers: tuple[Ledger, ...]) -> list[Position]:
    """Places where messages can be: three in each entry, and some that the open ledger has by now."""
    return [
        Position(ledger.id, entry, index)
        for ledger in ledgers
        for entry in range(ledger.entries + (3 if ledger.is_open else 0))
        for index in (0, 1, 5)
    ]


@st.composite
def ranges(draw: st.DrawFn) -> tuple[tuple[Ledger, ...], PartitionRange]:
    ledgers = draw(topic_ledgers())
    start, end = draw(positions(ledgers)), draw(positions(ledgers))
    places = draw(st.sampled_from(PLACES))
    located = [
        LedgerRange(each.start, each.end, each.ledger, places.location_of(A, each.ledger))
        if each.ledger
        else each
        for each in ledger_ranges(ledgers, start, end)
    ]
    records = draw(st.floats(1.0, 50.0))
    return ledgers, PartitionRange(A, start, end, tuple(located), records)


@unhurried
@given(made=ranges(), limits=limits)
def test_ranges_are_the_partition_range_once_in_order(
    made: tuple[tuple[Ledger, ...], PartitionRange], limits: Limits
) -> None:
    ledgers, asked = made
    splits = cut([asked], limits)
    ranges = [split_range for split in splits for split_range in split.ranges]
    for message in messages(ledgers):
        holders = [split_range for split_range in ranges if split_range.start <= message < split_range.end]
        assert len(holders) == (asked.start <= message < asked.end), (message, ranges)
        tasks = [split for split in splits if split.start <= message < split.end]
        assert len(tasks) == len(holders)
    borders = [border for split_range in ranges for border in (split_range.start, split_range.end)]
    assert borders == sorted(borders)
    assert all(split_range.start < split_range.end for split_range in ranges)
    if splits:
        assert splits[0].start == asked.start
        assert splits[-1].end == asked.end


@unhurried
@given(made=ranges(), limits=limits)
def test_a_range_that_is_not_read_from_the_broker_is_within_its_ledger(
    made: tuple[tuple[Ledger, ...], PartitionRange], limits: Limits
) -> None:
    for split in cut([made[1]], limits):
        for split_range in split.ranges:
            if isinstance(split_range.location, ClosedLedger):
                ledger = split_range.location.ledger
                assert split_range.start.ledger == split_range.end.ledger == ledger.id
                assert not ledger.is_open
                assert split_range.end <= Position(ledger.id, ledger.entries)


@unhurried
@given(made=ranges(), limits=limits)
def test_a_range_from_the_broker_knows_its_entries(
    made: tuple[tuple[Ledger, ...], PartitionRange], limits: Limits
) -> None:
    ledgers, asked = made
    for split in cut([asked], limits):
        for split_range in split.ranges:
            if not isinstance(split_range.location, FromBroker):
                continue
            part = Split(A, split_range.start, split_range.end, (split_range,))
            if within(ledgers, asked):
                assert split_range.location.entries == entries_of(ledgers, part)[0]
            elif split_range.end.ledger > ledgers[-1].id:
                assert split_range.location.entries is None


@unhurried
@given(made=ranges(), limits=limits)
def test_limits_are_met_as_far_as_entries_allow(
    made: tuple[tuple[Ledger, ...], PartitionRange], limits: Limits
) -> None:
    ledgers, asked = made
    splits = cut([asked], limits)
    whole = sum(each.entries for each in asked.ledger_ranges)
    assert len(splits) >= min(limits.min_splits, whole)
    for split in splits:
        entries, size = entries_of(ledgers, split)
        if entries <= 1 or not within(ledgers, asked):
            continue
        assert size <= limits.max_bytes * (1 + 1e-6)
        if limits.max_records is not None:
            assert entries * asked.entry_records <= limits.max_records * (1 + 1e-6)


def within(ledgers: tuple[Ledger, ...], asked: PartitionRange) -> bool:
    """Return whether the range is known completely."""
    return all(each.ledger is not None for each in asked.ledger_ranges) and asked.end.ledger <= ledgers[-1].id


def entries_of(ledgers: tuple[Ledger, ...], split: Split) -> tuple[int, float]:
    """Entries that hold the split, and their bytes."""
    entries, size = 0, 0.0
    for ledger in ledgers:
        ends = [split.end.entry + (split.end.batch_index > 0)] if split.end.ledger == ledger.id else []
        last = min([*ends, *([] if ledger.is_open and ends else [ledger.entries])])
        first = split.start.entry if split.start.ledger == ledger.id else 0
        if split.start.ledger <= ledger.id <= split.end.ledger and last > first:
            entries += last - first
            size += (last - first) * (ledger.size / ledger.entries if ledger.entries else 0)
    return entries, size


# Half of the ranges are empty and show nothing here. Hypothesis draws others, and must not stop for this
# reason.
@settings(unhurried, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(made=ranges(), least=st.integers(1, 60))
def test_least_splits_are_not_many_more(made: tuple[tuple[Ledger, ...], PartitionRange], least: int) -> None:
    asked = made[1]
    assume(asked.ledger_ranges)
    splits = cut([asked], Limits(max_bytes=1 << 40, min_splits=least))
    assert len(splits) <= least + len(asked.ledger_ranges)


@given(ledgers=topic_ledgers(), data=st.data())
def test_a_window_leaves_out_no_ledger_that_was_open_in_it(
    ledgers: tuple[Ledger, ...], data: st.DataObject
) -> None:
    times = st.one_of(st.none(), st.integers(0, 9_000))
    window, slack = TimeWindow(data.draw(times), data.draw(times)), data.draw(st.integers(0, 500))
    start, end = span_of_window(ledgers, window, slack)
    for ledger in ledgers:
        first = -math.inf if ledger.opened_ms is None else ledger.opened_ms - slack
        last = math.inf if ledger.closed_ms is None else ledger.closed_ms + slack
        after = window.published_from is None or last >= window.published_from
        before = window.published_before is None or first < window.published_before
        if after and before:
            assert start is None or start <= Position(ledger.id, 0)
            assert end is None or end > Position(ledger.id, ledger.entries)


@given(data=st.data())
def test_a_window_leaves_out_no_message_whatever_times_brokers_report(data: st.DataObject) -> None:
    """The window is tested over ledgers that truly follow each other in time.

    Brokers whose clocks are wrong by less than the slack closed them; some ledgers have no closing time.
    """
    slack = data.draw(st.integers(0, 300))
    borders = sorted(data.draw(st.lists(st.integers(1_000, 9_000), min_size=1, max_size=7)))
    told = [
        data.draw(st.one_of(st.integers(-slack, slack).map(true.__add__), st.just(0))) for true in borders
    ]
    ledgers = [
        Ledger(number, 5, 50, opened_ms=(told[number - 1] or None) if number else None, closed_ms=closed)
        for number, closed in enumerate([*told, None])
    ]
    times = st.one_of(st.none(), st.integers(0, 10_000))
    window = TimeWindow(data.draw(times), data.draw(times))
    start, end = span_of_window(ledgers, window, slack)
    for ledger, opened, closed in zip(ledgers, [0, *borders], [*borders, 10_000], strict=True):
        after = window.published_from is None or closed >= window.published_from
        before = window.published_before is None or opened < window.published_before
        if after and before:
            assert start is None or start <= Position(ledger.id, 0)
            assert end is None or end > Position(ledger.id, ledger.entries)


@given(reached=bounds, starts=bounds, time=st.one_of(st.none(), st.integers(-5, 1 << 60)))
def test_offsets_round_trip(reached: dict, starts: dict, time: int | None) -> None:
    bound = (
        TimeBound(all=time)
        if time is not None
        else TimeBound(by_name=tuple((each, 5) for each in sorted(starts)))
    )
    offset = StreamOffset(reached, starts, published_from=bound)
    assert StreamOffset.from_json(json.loads(json.dumps(offset.to_json()))) == offset
    plain = StreamOffset(reached, starts)
    assert StreamOffset.from_json(json.loads(json.dumps(plain.to_json()))) == plain


@given(first=st.one_of(st.just(EARLIEST), SOME), second=st.one_of(st.just(EARLIEST), SOME))
def test_text_form_keeps_order(first: Position, second: Position) -> None:
    assert (first < second) == (Position.parse(str(first)) < Position.parse(str(second)))
