"""Tests of reads in flight, of single entries and of groups."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from pyspark_pulsar.client.bookkeeper.in_flight_read import InFlightRead


@st.composite
def reads(draw: st.DrawFn) -> InFlightRead:
    start, size = draw(st.integers(0, 20)), draw(st.integers(1, 4))
    step = size * draw(st.integers(1, 3))
    return InFlightRead(range(start, start + draw(st.integers(1, 40)), step), "a", size)


def entries_of(parts: list[InFlightRead]) -> Counter[int]:
    return Counter(entry for part in parts for entry in range(200) if part.covers(entry))


def test_groups() -> None:
    every_third_pair = InFlightRead(range(4, 15, 6), "a", 2)
    assert [entry for entry in range(30) if every_third_pair.covers(entry)] == [4, 5, 10, 11]
    assert [read.entries for read in every_third_pair.split_groups()] == [range(4, 15, 6), range(5, 15, 6)]
    assert [(read.entries, read.size) for read in every_third_pair.split_around(10)] == [
        (range(4, 10, 6), 2),
        (range(11, 12), 1),
    ]


@given(whole=reads())
def test_one_by_one_covers_the_same(whole: InFlightRead) -> None:
    single = whole.split_groups()
    assert all(not read.is_batched for read in single)
    assert entries_of(single) == entries_of([whole])
    places = {(entry - whole.entries.start) % whole.entries.step for read in single for entry in read.entries}
    assert len(places) == len(single)


@given(whole=reads(), data=st.data())
def test_without_an_entry_all_others_are_covered_once(whole: InFlightRead, data: st.DataObject) -> None:
    every = entries_of([whole])
    entry = data.draw(st.sampled_from(sorted(every)))
    assert entries_of(whole.split_around(entry)) == every - Counter([entry])
