"""An audit finds entries that a reader has left out, and writes the counts of the others."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.offload.policy import TieredStore
from pyspark_pulsar.errors import LedgerUnavailable, OptionError
from pyspark_pulsar.inspect.audit import attempts_table, ledgers_table
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.compacted import FromCompactedLedger
from pyspark_pulsar.read.sources.offloaded import FromTieredStorage
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.audit import SplitAudit, audit_split
from pyspark_pulsar.read.task.audit_files import audit_files
from pyspark_pulsar.read.task.read_counts import ReadCounts
from pyspark_pulsar.spark.task_context import Attempt

PARTITION = TopicPartition.parse("persistent://public/default/t-partition-3")
SEVEN = Ledger(7, 10, 1000, None, 1)
NINE = Ledger(9, 4, 400, 1, 2, offload_id="copy")
FIRST = SplitRange(Position(7, 2), Position(7, 10), FromBookies(SEVEN))
SECOND = SplitRange(Position(9, 0), Position(9, 4), FromTieredStorage(NINE, TieredStore("s3://bucket")))
LAST = SplitRange(Position(10, 0), Position(10, 5), FromBroker())
SPLIT = Split(PARTITION, Position(7, 2), Position(10, 5), (FIRST, SECOND, LAST))


def entries(ledger: int, first: int, last: int) -> EntryBatch:
    batch = EntryBatch()
    for entry in range(first, last + 1):
        batch.push(ledger, entry, b"x" * 10)
    return batch


def read_all(audit: SplitAudit) -> None:
    for split_range, batch in (
        (FIRST, entries(7, 2, 9)),
        (SECOND, entries(9, 0, 3)),
        (LAST, entries(10, 0, 2)),
    ):
        tally = audit.begin(split_range)
        tally.take(batch)
        tally.end()


def test_a_split_that_was_read_to_its_end_is_whole() -> None:
    audit = SplitAudit(SPLIT, counts_messages=True)
    read_all(audit)
    audit.check()
    assert [(tally.expected, tally.entries, tally.messages, tally.is_short) for tally in audit.tallies] == [
        (8, 8, 8, False),
        (4, 4, 4, False),
        (None, 3, 3, False),
    ]


def test_a_reader_that_ends_early_is_an_error() -> None:
    tally = SplitAudit(SPLIT).begin(FIRST)
    tally.take(entries(7, 2, 8))
    with pytest.raises(LedgerUnavailable, match="expected 8 entries, got 7"):
        tally.end()
    assert tally.is_short


def test_the_broker_may_leave_entries_out() -> None:
    tally = SplitAudit(SPLIT).begin(LAST)
    tally.end()
    assert not tally.is_short


def test_a_compacted_view_is_counted_whole() -> None:
    view = SplitRange(EARLIEST, Position(7, 5), FromCompactedLedger(Ledger(20, 3, 90, None, 0)))
    tally = SplitAudit(Split(PARTITION, view.start, view.end, (view,))).begin(view)
    tally.take(entries(7, 1, 1))
    tally.take(entries(7, 6, 7))
    tally.end()
    again = SplitAudit(SPLIT).begin(view)
    again.take(entries(7, 1, 1))
    with pytest.raises(LedgerUnavailable, match="expected 3 entries, got 1"):
        again.end()


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_range_without_a_reader_is_found(missing: int) -> None:
    audit = SplitAudit(SPLIT)
    read_all(audit)
    del audit.tallies[missing]
    with pytest.raises(LedgerUnavailable, match=r"audit of the split from 7:2:0 up to 10:5:0"):
        audit.check()


def test_a_reader_that_does_not_report_its_end_is_found() -> None:
    audit = SplitAudit(SPLIT)
    read_all(audit)
    audit.tallies[1].is_whole = False
    with pytest.raises(
        LedgerUnavailable, match="expected all entries from 9:0:0 up to 9:4:0, got 4 from tiered"
    ):
        audit.check()


@pytest.mark.parametrize(
    ("given", "at", "counted"),
    [
        ((2, 5), Position(7, 6), 4),  # The location failed after these entries.
        ((2, 5), Position(7, 4), 2),  # The last of these entries do not count.
        (None, Position(7, 2), 0),  # The location failed before its first entry.
        ((2, 9), Position(7, 10), 8),  # The location failed after its last entry.
    ],
)
def test_the_broker_continues_after_a_fault(
    given: tuple[int, int] | None, at: Position, counted: int
) -> None:
    audit = SplitAudit(Split(PARTITION, FIRST.start, FIRST.end, (FIRST,)))
    tally = audit.begin(FIRST)
    if given is not None:
        tally.take(entries(7, *given))
    audit.fall_back(at, "the bookie died")
    rest = audit.begin(SplitRange(at, FIRST.end, FromBroker()))
    rest.end()
    audit.check()
    assert (tally.entries, tally.is_short, tally.fallback) == (counted, False, None)
    assert (rest.fallback, rest.is_short) == ("the bookie died", False)


def test_a_gap_between_reader_and_broker_is_found() -> None:
    audit = SplitAudit(Split(PARTITION, FIRST.start, FIRST.end, (FIRST,)))
    tally = audit.begin(FIRST)
    tally.take(entries(7, 2, 5))
    audit.fall_back(Position(7, 6), "the bookie died")
    audit.begin(SplitRange(Position(7, 7), FIRST.end, FromBroker())).end()
    with pytest.raises(
        LedgerUnavailable, match="expected messages from 7:6:0 up to 7:10:0, got messages from 7:7:0"
    ):
        audit.check()


def test_a_split_may_end_inside_a_batched_entry() -> None:
    split_range = SplitRange(Position(7, 3, 2), Position(7, 5, 4), FromBookies(SEVEN))
    audit = SplitAudit(Split(PARTITION, split_range.start, split_range.end, (split_range,)))
    tally = audit.begin(split_range)
    tally.take(entries(7, 3, 5))
    audit.fall_back(Position(7, 6), "the bookie died")
    audit.begin(SplitRange(Position(7, 6), split_range.end, FromBroker())).end()
    audit.check()
    assert tally.entries == 3


def options(path: Path | str | None) -> ReadOptions:
    return ReadOptions(service_url="pulsar://h:1", topic="t", audit_path=None if path is None else str(path))


def test_the_audit_of_a_task_is_written(tmp_path: Path) -> None:
    with audit_split(options(tmp_path), SPLIT, Attempt("run-1", 2, 77)) as audit:
        read_all(audit)
    (written,) = audit_files(str(tmp_path))
    assert (written.run, written.attempt, written.task, written.state) == ("run-1", 2, 77, "finished")
    assert (written.topic, written.partition) == ("persistent://public/default/t", 3)
    assert [(part.reader, part.ledger, part.expected, part.entries, part.size) for part in written.parts] == [
        ("bookie", 7, 8, 8, 80),
        ("tiered", 9, 4, 4, 40),
        ("broker", 10, None, 3, 30),
    ]
    assert (written.parts[0].first, written.parts[0].last) == ("7:2", "7:9")
    assert [path.suffix for path in (tmp_path / "run-1").iterdir()] == [".json"]


def test_nothing_is_written_without_audit_path(tmp_path: Path) -> None:
    with audit_split(options(None), SPLIT, Attempt()) as audit:
        read_all(audit)
    assert audit.tallies[0].messages == 0
    assert not list(tmp_path.iterdir())


def test_the_audit_of_a_failed_task_contains_its_error_and_what_is_missing(tmp_path: Path) -> None:
    with suppress(LedgerUnavailable), audit_split(options(tmp_path), SPLIT, Attempt("r")) as audit:
        audit.begin(FIRST).take(entries(7, 2, 4))
        raise LedgerUnavailable("no bookie answers")
    (written,) = audit_files(str(tmp_path))
    assert (written.state, written.error) == ("failed", "LedgerUnavailable: no bookie answers")
    assert [(part.entries, part.expected, part.short) for part in written.parts] == [(3, 8, True)]


def test_a_task_that_spark_stops_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(GeneratorExit), audit_split(options(tmp_path), SPLIT, Attempt("r")):
        raise GeneratorExit
    assert audit_files(str(tmp_path)) == []


def test_a_short_split_fails_the_task(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="audit"), audit_split(options(tmp_path), SPLIT, Attempt("r")):
        pass
    assert audit_files(str(tmp_path))[0].state == "failed"


def test_a_folder_that_cannot_be_written_is_an_option_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OptionError, match="auditPath"),
        audit_split(options(tmp_path / "file"), SPLIT, None) as audit,
    ):
        read_all(audit)


def test_a_folder_of_other_files_is_an_option_error(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(OptionError, match="expected an audit"):
        audit_files(str(tmp_path))
    (tmp_path / "other.json").write_text(json.dumps({"version": 2}))
    with pytest.raises(OptionError, match="version 1, got version 2"):
        audit_files(str(tmp_path))


def test_attempts_of_a_task_count_once(tmp_path: Path) -> None:
    def failing() -> None:
        with audit_split(options(tmp_path), SPLIT, Attempt("r", 0, 1)) as audit:
            audit.begin(FIRST).take(entries(7, 2, 4))
            raise LedgerUnavailable("no")

    with pytest.raises(LedgerUnavailable):
        failing()
    for number in (1, 2):
        with audit_split(options(tmp_path), SPLIT, Attempt("r", number, 1 + number)) as audit:
            read_all(audit)
    files = audit_files(f"file://{tmp_path}")
    found = ledgers_table(files).to_pylist()
    assert [
        (row["ledger"], row["expected"], row["entries"], row["short"], row["repeated"]) for row in found
    ] == [
        (7, 8, 8, False, 2),
        (9, 4, 4, False, 1),
        (10, None, 3, False, 1),
    ]
    attempts = attempts_table(files).to_pylist()
    assert [(row["task"], row["counts"], row["short"]) for row in attempts if row["ledger"] == 7] == [
        (1, False, True),
        (2, True, False),
        (3, False, False),
    ]


def test_entries_that_several_splits_by_key_read_count_once(tmp_path: Path) -> None:
    for number, slots in enumerate([(0, 32_768), (32_768, 65_536)]):
        with audit_split(options(tmp_path), replace(SPLIT, slots=slots), Attempt("r", 0, number)) as audit:
            read_all(audit)
    found = ledgers_table(audit_files(str(tmp_path))).to_pylist()
    assert [
        (row["ledger"], row["expected"], row["entries"], row["splits"], row["repeated"]) for row in found
    ] == [
        (7, 8, 8, 2, 0),
        (9, 4, 4, 2, 0),
        (10, None, 3, 2, 0),
    ]


def test_a_ledger_without_one_of_its_splits_is_short(tmp_path: Path) -> None:
    half = SplitRange(FIRST.start, Position(7, 6), FromBookies(SEVEN))
    other = SplitRange(Position(7, 6), FIRST.end, FromBookies(SEVEN))
    with audit_split(
        options(tmp_path), Split(PARTITION, half.start, half.end, (half,)), Attempt("r", 0, 1)
    ) as audit:
        tally = audit.begin(half)
        tally.take(entries(7, 2, 5))
        tally.end()
    with (
        suppress(LedgerUnavailable),
        audit_split(
            options(tmp_path), Split(PARTITION, other.start, other.end, (other,)), Attempt("r", 3, 2)
        ) as audit,
    ):
        audit.begin(other)
        raise LedgerUnavailable("no")
    (row,) = ledgers_table(audit_files(str(tmp_path))).to_pylist()
    assert (row["expected"], row["entries"], row["short"], row["splits"]) == (8, 4, True, 2)


def test_an_allowed_loss_is_shown_and_is_no_error(tmp_path: Path) -> None:
    with audit_split(options(tmp_path), Split(PARTITION, FIRST.start, FIRST.end, (FIRST,)), None) as audit:
        tally = audit.begin(FIRST)
        tally.take(entries(7, 2, 4))
        audit.fall_back(Position(7, 5), "LedgerUnavailable: x")
        audit.lose(replace(FIRST, start=Position(7, 5)))
    (row,) = ledgers_table(audit_files(str(tmp_path))).to_pylist()
    assert (row["expected"], row["entries"], row["short"]) == (8, 3, True)
    assert row["fallbacks"] == ["LedgerUnavailable: x"]


def test_entries_and_bytes_of_each_location_are_counted() -> None:
    audit = SplitAudit(SPLIT)
    tally = audit.begin(FIRST)
    tally.take(entries(7, 2, 5))
    audit.fall_back(Position(7, 6), "ConnectionFailed: gone")
    tally = audit.begin(replace(FIRST, start=Position(7, 6), location=FromBroker()))
    tally.take(entries(7, 6, 9))
    tally.end()
    tally = audit.begin(SECOND)
    tally.take(entries(9, 0, 3))
    tally.end()
    counts = ReadCounts()
    counts.take(audit.tallies)
    assert {name: count for name, count in counts.by_name.items() if count} == {
        "readEntries.bookie": 4,
        "readBytes.bookie": 40,
        "readEntries.broker": 4,
        "readBytes.broker": 40,
        "fallbacks.broker": 1,
        "readEntries.tiered": 4,
        "readBytes.tiered": 40,
    }
