"""A plan in numbers, and why ledgers are left out of it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from fixtures.plans import plan_of
from hypothesis import given, strategies as st
from property.ledger_strategies import positions, topic_ledgers

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.reading.rows import TableRows
from pyspark_pulsar.history.columnar.storage import TableStorage
from pyspark_pulsar.inspect.planned_splits import planned_splits
from pyspark_pulsar.inspect.segments import segments_of
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import ledger_parts
from pyspark_pulsar.read.planning.ledgers.ledger_range import ledger_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.columns import FromColumns
from pyspark_pulsar.read.sources.offloaded import FromTieredStorage
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.tools.cli.commands.plan import (
    json_lines,
    print_plan,
    pruned,
    skipped_segments,
    totals,
    unknown,
)

MINUTE = 60_000
PARTITION = TopicPartition.parse("persistent://public/default/t")
STORE = TieredStore("s3://bucket")
OLD, EMPTY, STORED, KEPT, OPEN = LEDGERS = (
    Ledger(1, 10, 1_000, None, 100 * MINUTE),
    Ledger(2, 0, 0, 100 * MINUTE, 200 * MINUTE),
    Ledger(3, 100, 10_000, 200 * MINUTE, 300 * MINUTE, offload_id="id"),
    Ledger(5, 50, 25_000, 300 * MINUTE, 400 * MINUTE),
    Ledger(8, 7, 70, 400 * MINUTE, None),
)
SPLITS = (
    Split(
        PARTITION,
        Position(3, 0),
        Position(5, 20),
        (
            SplitRange(Position(3, 0), Position(3, 100), FromTieredStorage(STORED, STORE)),
            SplitRange(Position(5, 0), Position(5, 20), FromBookies(KEPT)),
        ),
        window=TimeWindow(published_from=150 * MINUTE),
    ),
    Split(
        PARTITION,
        Position(5, 20),
        Position(8, 5),
        (SplitRange(Position(5, 20), Position(8, 5), FromBroker()),),
        window=TimeWindow(published_from=150 * MINUTE),
    ),
)
PLAN = plan_of(PartitionPlan(PARTITION, Position(2, 0), Position(8, 5), TopicLedgers(LEDGERS), SPLITS))
OPTIONS = ReadOptions(
    service_url="pulsar://h:1", topic="t", starting_timestamp=150 * MINUTE, clock_slack_ms=10 * MINUTE
)


def test_splits_in_numbers() -> None:
    first, second = planned_splits(PLAN)
    assert (first.number, first.readers, first.entries, first.size) == (0, ("tiered", "bookie"), 120, 20_000)
    assert first.ranges[0].copy == "s3://bucket/id-ledger-3"
    assert (second.number, second.readers, second.entries, second.size) == (1, ("broker",), 35, 15_050)
    assert [(part.ledger, part.first, part.last) for part in second.ranges[0].parts or ()] == [
        (5, 20, 49),
        (8, 0, 4),
    ]


def test_rows_of_a_table_in_numbers() -> None:
    files = (
        DataFile("f1", 900, 60, (-1, -1), (1, 1), (0, 9)),
        DataFile("f2", 1_000, 100, (-1, -1), (3, 3), (0, 99)),
    )
    table = FromColumns(TableRows("n.t", pa.schema([]), TableStorage()), files)
    split = Split(
        PARTITION,
        EARLIEST,
        Position(5, 20),
        (
            SplitRange(EARLIEST, Position(3, 25), table),
            SplitRange(Position(5, 0), Position(5, 20), FromBookies(KEPT)),
        ),
    )
    plan = plan_of(PartitionPlan(PARTITION, EARLIEST, Position(5, 20), TopicLedgers(LEDGERS), (split,)))
    (planned,) = planned_splits(plan)
    assert (planned.readers, planned.entries, planned.rows) == (("columns", "bookie"), 20, 85)
    assert planned.size == 900 + 250 + 10_000
    assert totals([planned]) == (
        "1 split: 20 entries and about 85 rows in 2 files, about 10.9 KiB (bookie 20 entries, about 9.8 KiB; columns "
        "about 85 rows in 2 files, about 1.1 KiB)"
    )
    (row,) = (json.loads(line) for line in json_lines(plan))
    assert (row["entries"], row["rows"], row["bytes"]) == (20, 85, 11_150)
    assert [(each["reader"], each["entries"], each["rows"], each["files"]) for each in row["pieces"]] == [
        ("columns", None, 85, 2),
        ("bookie", 20, None, None),
    ]
    # If no admin REST API lists the ledgers, a table still knows its rows.
    alone = Split(PARTITION, EARLIEST, Position(3, 25), split.ranges[:1])
    unknown_ledgers = plan_of(PartitionPlan(PARTITION, EARLIEST, Position(3, 25), None, (alone,)))
    assert unknown(unknown_ledgers) == []
    assert totals(planned_splits(unknown_ledgers)).startswith(
        "1 split: about 85 rows in 2 files, about 1.1 KiB"
    )


@pytest.mark.parametrize(
    ("start", "end", "share"),
    [
        (EARLIEST, Position(9, 0), 1.0),
        (Position(3, 10), Position(3, 20), 1.0),
        (Position(3, 15), Position(3, 20), 0.5),
        (Position(3, 10), Position(3, 11), 0.1),
        (Position(3, 10), Position(3, 11, 4), 0.2),
        (Position(3, 20), Position(9, 0), 0.0),
        (Position(4, 0), Position(9, 0), 0.0),
        (EARLIEST, Position(3, 10), 0.0),
        (EARLIEST, Position(2, 50), 0.0),
    ],
)
def test_the_share_of_a_file_that_a_range_covers(start: Position, end: Position, share: float) -> None:
    assert DataFile("f", 1, 1, None, (3, 3), (10, 19)).share(start, end) == share
    assert DataFile("f", 1, 1, None, (3, 4), (10, 19)).share(start, end) == 1.0


def test_what_is_read_and_what_not() -> None:
    found = segments_of(OPTIONS, PARTITION, TopicLedgers(LEDGERS), PLAN.partitions[0], ALL_TIMES, STORE)
    assert [(each.ledger.id, each.reader, each.copy) for each in found] == [
        (1, None, None),
        (2, None, None),
        (3, "tiered", "s3://bucket/id-ledger-3"),
        (5, "bookie", None),
        (8, "broker", None),
    ]


def test_the_reasons() -> None:
    skipped = skipped_segments(OPTIONS, PLAN)
    assert [(each.ledger.id, each.skipped) for each in skipped] == [
        (1, "closed before startingTimestamp"),
        (2, "empty"),
    ]
    assert pruned(skipped)[0] == (
        "Not read of persistent://public/default/t: 1 ledger (1), 10 entries, 1000 B: closed before startingTimestamp"
    )


@pytest.mark.parametrize(
    ("options", "start", "end", "reasons"),
    [
        ({}, Position(3, 100), Position(5, 1), {3: "before startingOffsets", 8: "after endingOffsets"}),
        ({"ending_timestamp": 350 * MINUTE}, EARLIEST, Position(8, 0), {8: "opened after endingTimestamp"}),
        (
            {"starting_timestamp": 9, "ending_timestamp": 9},
            EARLIEST,
            EARLIEST,
            {5: "no time between startingTimestamp and endingTimestamp"},
        ),
    ],
)
def test_reasons_by_bound(
    options: dict[str, int], start: Position, end: Position, reasons: dict[int, str]
) -> None:
    asked = ReadOptions(service_url="pulsar://h:1", topic="t", clock_slack_ms=0, **options)  # type: ignore[arg-type]
    found = skipped_segments(asked, plan_of(PartitionPlan(PARTITION, start, end, TopicLedgers(LEDGERS), ())))
    told = {each.ledger.id: each.skipped or "" for each in found}
    for ledger, reason in reasons.items():
        assert told[ledger].startswith(reason)


def test_plan_on_screen(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(PLAN, skipped_segments(OPTIONS, PLAN))
    text = capsys.readouterr().out
    assert (
        "2 splits: 155 entries, about 34.2 KiB (bookie 20 entries, about 9.8 KiB; broker 35 entries" in text
    )
    assert "Not read of persistent://public/default/t: 1 ledger (1), 10 entries" in text
    rows = [line.split() for line in text.splitlines() if "3:0:0" in line or "5:20:0" in line]
    assert rows[0][:6] == ["0", "persistent://public/default/t", "3:0:0", "3:100:0", "tiered", "3"]


def test_plan_as_json() -> None:
    first, second = map(json.loads, json_lines(PLAN))
    assert first["ledgers"] == [3, 5]
    assert first["readers"] == ["tiered", "bookie"]
    assert first["published_from"] == "1970-01-01T02:30:00+00:00"
    assert (second["start"], second["end"], second["entries"]) == ("5:20:0", "8:5:0", 35)


def test_what_is_not_known_is_said() -> None:
    blind = plan_of(PartitionPlan(PARTITION, EARLIEST, Position(8, 5), None, SPLITS[1:]))
    (split,) = planned_splits(blind)
    assert (split.entries, split.size) == (None, None)
    assert totals([split]) == "1 split: ? entries (broker ? entries)"
    assert "admin.url" in unknown(blind)[0]
    assert skipped_segments(OPTIONS, blind) == []


def test_the_reason_for_the_location_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(plan_of(notes=("nothing is read from bookies: why",)), [])
    assert "Note: nothing is read from bookies: why" in capsys.readouterr().out


def test_nothing_to_read() -> None:
    assert totals([]) == "Nothing to read."


@given(st.data())
def test_entries_are_those_of_the_stretches(data: st.DataObject) -> None:
    ledgers = data.draw(topic_ledgers())
    start, end = data.draw(positions(ledgers)), data.draw(positions(ledgers))
    parts = ledger_parts(ledgers, start, end) if start < end else ()
    expected = [
        each for each in ledger_ranges(ledgers, start, end) if each.ledger is not None and each.entries
    ]
    found = {part.ledger: (part.first, part.entries) for part in parts}
    for each in expected:
        if each.start.ledger == each.end.ledger:
            assert found[each.start.ledger] == (each.start.entry, each.entries)
