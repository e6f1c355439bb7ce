"""A filtered read returns the rows that the filter selects from a full read, whatever the entries are."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from hypothesis import given, settings, strategies as st
from unit.codec.handmade_entries import TOPIC, no_fetch, proto

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import EarlierRanges, Intake
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.schema.read_schema import resolve_read_schema

KEYS = [None, b"a", b"b", b"", b"\0\xff"]
COLUMNS = ["value", "__key", "__messageId", "__publishTime", "__eventTime"]

# Of two messages: which one, number of the chunk, how many it has.
CHUNKS = [(0, 0, 2), (0, 1, 2), (1, 0, 3), (1, 1, 3), (1, 2, 3)]

Fields = Sequence[tuple[int, int | bytes]]


@dataclass(frozen=True)
class Stored:
    """An entry: its publish time, key (index into KEYS), messages of a batch, transaction, chunk."""

    time: int
    key: int
    batch: tuple[int, ...] | None
    transaction: int | None
    chunk: tuple[int, int, int] | None
    event: int = 0
    """The event time of the entry; 0 means none. The event times of a batch's messages increase from this one."""

    def bytes(self, number: int) -> bytes:
        metadata: list[tuple[int, int | bytes]] = [
            (1, b"p"),
            (2, number),
            (3, self.time),
            *_key(self.key, 6, 17),
        ]
        if self.event:
            metadata.append((12, self.event))
        payload = b"%d" % number
        if self.transaction is not None:
            metadata += [(22, self.transaction), (23, 0)]
        if self.chunk is not None:
            uuid, index, count = self.chunk
            metadata += [(26, b"u%d" % uuid), (27, count), (28, 99), (29, index)]
        elif self.batch is not None:
            metadata.append((11, len(self.batch)))
            payload = b"".join(
                _message(key, b"%d.%d" % (number, i), self.event and self.event + i)
                for i, key in enumerate(self.batch)
            )
        packed = proto(*metadata)
        return struct.pack(">I", len(packed)) + packed + payload


def _key(key: int, field: int, base64_field: int) -> Fields:
    found = KEYS[key]
    if found is None:
        return ()
    return ((field, b"AP8="), (base64_field, 1)) if found == b"\0\xff" else ((field, found),)


def _message(key: int, payload: bytes, event: int) -> bytes:
    single = proto((3, len(payload)), *_key(key, 2, 6), *([(5, event)] if event else []))
    return struct.pack(">I", len(single)) + single + payload


key_numbers = st.integers(0, len(KEYS) - 1)
topics = st.lists(
    st.builds(
        Stored,
        time=st.integers(0, 6),
        key=key_numbers,
        batch=st.none() | st.lists(key_numbers, min_size=1, max_size=4).map(tuple),
        transaction=st.none() | st.integers(0, 3),
        chunk=st.none() | st.sampled_from(CHUNKS),
        event=st.integers(0, 5),
    ),
    max_size=12,
)
filters = st.builds(
    RowFilter,
    window=st.builds(
        TimeWindow,
        published_from=st.none() | st.integers(-1, 7),
        published_before=st.none() | st.integers(-1, 7),
        event_before=st.none() | st.integers(0, 7),
    ),
    event_from=st.none() | st.integers(0, 7),
    keys=st.none() | st.frozensets(st.sampled_from([key for key in KEYS if key is not None])),
)


def read(
    topic: list[Stored], wanted: RowFilter, batch_rows: int, pushes: int, aborted: set[int]
) -> list[dict[str, Any]]:
    def earlier(_ledger: int, entry: int, _chunks: int) -> EarlierRanges:
        for start in (max(0, entry - 2), 0):
            # A broker's entries.
            yield iter([_entries(topic, start, entry + 1, hidden=aborted)])

    def outcomes(asked: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], bool]:
        return {(most, least): least in aborted for most, least in asked}

    decoder = EntryDecoder(
        resolve_read_schema(None, topic=TOPIC, columns=COLUMNS),
        topic=TOPIC,
        partition=-1,
        fetch_schema=no_fetch,
        batch_rows=batch_rows,
        intake=Intake(earlier=earlier, aborted=outcomes),
        row_filter=wanted,
    )

    def batches() -> Iterator[Any]:
        for start in range(0, len(topic), pushes):
            entries = _entries(topic, start, min(start + pushes, len(topic)))
            entries.unfiltered = True
            yield from decoder.decode(entries)
        yield from decoder.finish()

    return [row for batch in batches() for row in batch.to_pylist()]


def _entries(topic: list[Stored], start: int, end: int, hidden: AbstractSet[int] = frozenset()) -> EntryBatch:
    found = EntryBatch()
    for number in range(start, end):
        if topic[number].transaction not in hidden:
            found.push(7, number, topic[number].bytes(number))
    return found


@settings(deadline=None, max_examples=300, print_blob=True)
@given(
    topic=topics,
    wanted=filters,
    batch_rows=st.integers(1, 5),
    pushes=st.integers(1, 12),
    aborted=st.sets(st.integers(0, 3)),
)
def test_a_filtered_read_is_a_full_read_filtered(
    topic: list[Stored], wanted: RowFilter, batch_rows: int, pushes: int, aborted: set[int]
) -> None:
    full = read(topic, RowFilter(), batch_rows, pushes, aborted)
    assert not [row for row in full if topic[row["__messageId"]["entry"]].transaction in aborted]

    def keeps(row: dict[str, Any]) -> bool:
        published = (row["__publishTime"] - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(
            milliseconds=1
        )
        event = row["__eventTime"]
        happened = event and (event - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
        window = wanted.window
        return (
            (window.event_before is None or happened is None or happened < window.event_before)
            and (wanted.event_from is None or (happened is not None and happened >= wanted.event_from))
            and (window.published_from is None or published >= window.published_from)
            and (window.published_before is None or published < window.published_before)
            and (wanted.keys is None or row["__key"] in wanted.keys)
        )

    assert read(topic, wanted, batch_rows, pushes, aborted) == [row for row in full if keeps(row)]


@settings(deadline=None, print_blob=True)
@given(topic=topics, wanted=filters, parts=st.integers(1, 6), batch_rows=st.integers(1, 5))
def test_parts_of_the_slots_are_the_rows_once_and_a_key_stays_together(
    topic: list[Stored], wanted: RowFilter, parts: int, batch_rows: int
) -> None:
    borders = [65_536 * index // parts for index in range(parts + 1)]
    slots = list(pairwise(borders))
    found = [read(topic, replace(wanted, slots=part), batch_rows, 3, set()) for part in slots]
    whole = read(topic, wanted, batch_rows, 3, set())
    for rows in found:
        assert rows == [row for row in whole if row in rows]
    assert sum(len(rows) for rows in found) == len(whole)
    assert all(row in rows or row in whole for rows in found for row in rows)
    for key in KEYS[1:]:
        assert sum(any(row["__key"] == key for row in rows) for rows in found) <= 1
