"""Counts agree with reads: the parts into which a count divides a range have the counted rows."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st
from property.test_row_filters import Stored, _entries, key_numbers
from unit.codec.handmade_entries import TOPIC, no_fetch

from pyspark_pulsar.codec.backlog import UNLIMITED, Backlog
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.schema.read_schema import resolve_read_schema

topics = st.lists(
    st.builds(
        Stored,
        time=st.integers(0, 6),
        key=key_numbers,
        batch=st.none() | st.lists(key_numbers, min_size=1, max_size=4).map(tuple),
        transaction=st.none(),
        chunk=st.none(),
    ),
    max_size=12,
)
limits = st.none() | st.integers(1, 20)


def read(topic: list[Stored], start: Position, end: Position, since: int | None) -> list[dict[str, Any]]:
    decoder = EntryDecoder(
        resolve_read_schema(None, topic=TOPIC, columns=["value", "__messageId"]),
        topic=TOPIC,
        partition=-1,
        fetch_schema=no_fetch,
        start=start.as_tuple(),
        end=end.as_tuple(),
        row_filter=RowFilter(TimeWindow(published_from=since)),
    )
    found = [*decoder.decode(_entries(topic, 0, len(topic))), *decoder.finish()]
    return [row for batch in found for row in batch.to_pylist()]


@settings(deadline=None)
@given(
    topic=topics,
    records=limits,
    size=st.none() | st.integers(1, 300),
    since=st.none() | st.integers(0, 7),
    pushes=st.integers(1, 5),
)
def test_parts_of_a_backlog_are_its_rows_once_in_the_limits(
    topic: list[Stored], records: int | None, size: int | None, since: int | None, pushes: int
) -> None:
    end = Position(7, len(topic)) if topic else EARLIEST
    whole = read(topic, EARLIEST, end, since)
    backlog, start, rows = Backlog(EARLIEST, since), EARLIEST, []
    for first in range(0, len(topic), pushes):
        # An entry that arrives twice, as after a reconnect, counts once.
        backlog.add(_entries(topic, max(0, first - 2), min(first + pushes, len(topic))))
    assert backlog.until == end
    for _ in range(200):
        if start == end:
            break
        part = backlog.take(
            start, end, records=records or UNLIMITED, size=size or UNLIMITED, at_least_one=True
        )
        found = read(topic, start, part.end, since)
        assert len(found) == part.records
        assert records is None or part.records <= records
        assert size is None or part.size <= size or part.records <= 1
        assert start < part.end <= end
        rows += found
        start = part.end
        backlog.drop_before(start)
    assert start == end
    assert rows == whole
