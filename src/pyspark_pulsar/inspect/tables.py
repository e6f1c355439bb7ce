"""Tables that describe segments, plans and audits. The command line uses Arrow tables, and Python uses DataFrames.

The functions with a Spark session query Pulsar from the calling process. With Spark Connect, this is the client
process.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyspark_pulsar.options import ReadOptions, parse_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pyspark_pulsar.inspect.planned_splits import PlannedRange, PlannedSplit
    from pyspark_pulsar.inspect.segments import Segment, Survey
    from pyspark_pulsar.inspect.table_parts import TablePart
    from pyspark_pulsar.read.batch.batch_plan import BatchPlan

COLUMNS: Final = "columns"
"""The value of the columns `state` and `location` in a row that describes a topic's table instead of a ledger."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = pa.timestamp("us", "UTC")

SEGMENTS = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "ledger": pa.int64(),
        "state": pa.string(),
        "entries": pa.int64(),
        "rows": pa.int64(),
        "bytes": pa.int64(),
        "opened": _TIME,
        "closed": _TIME,
        "location": pa.string(),
        "bookies": pa.list_(pa.string()),
        "copy": pa.string(),
        "reader": pa.string(),
        "skipped": pa.string(),
        "fault": pa.string(),
    }
)
_RANGE = pa.struct(
    {
        "reader": pa.string(),
        "start": pa.string(),
        "end": pa.string(),
        "ledgers": pa.list_(pa.int64()),
        "entries": pa.int64(),
        "rows": pa.int64(),
        "files": pa.int32(),
        "bytes": pa.int64(),
        "copy": pa.string(),
    }
)
PLAN = pa.schema(
    {
        "split": pa.int32(),
        "task": pa.int32(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "start": pa.string(),
        "end": pa.string(),
        "readers": pa.list_(pa.string()),
        "ledgers": pa.list_(pa.int64()),
        "entries": pa.int64(),
        "rows": pa.int64(),
        "bytes": pa.int64(),
        "published_from": _TIME,
        "published_before": _TIME,
        "event_before": _TIME,
        "pieces": pa.list_(_RANGE),
    }
)


def segments(spark: SparkSession, **options: Any) -> DataFrame:
    """Return one row for each ledger of the topics, and one row for each topic partition in a topic's table.

    A row contains the location, and the reader that a batch with these options would use. If the batch would fail, all
    rows have a null `reader`, and the reason in the column `fault`.

    Args:
        spark: The session that creates the DataFrame.
        options: The options of `spark.read`; `admin.url` (or `adminUrl`) is required.

    Raises:
        PulsarError: The topics or their ledgers cannot be listed.

    """
    from pyspark_pulsar.inspect.segments import survey

    return _frame(spark, segments_table(survey(read_options(options))))


def plan(spark: SparkSession, **options: Any) -> DataFrame:
    """Return one row for each split of a batch read.

    Args:
        spark: The session that creates the DataFrame.
        options: The options of `spark.read`.

    Raises:
        PulsarError: The read cannot be planned.

    """
    from pyspark_pulsar.read.batch.batch_plan import plan_batch

    return _frame(spark, plan_table(plan_batch(read_options(options), is_shown=True, fails_fast=True)))


def audit(spark: SparkSession, path: str, *, attempts: bool = False) -> DataFrame:
    """Return the audit that tasks have written with option `auditPath`.

    Args:
        spark: The session that creates the DataFrame.
        path: The value of `auditPath`.
        attempts: Whether to return one row for each part of a ledger that a task attempt has read. If false, the result
            has one row for each ledger of a read.

    Raises:
        PulsarError: The audit cannot be read.

    """
    from pyspark_pulsar.inspect.audit import attempts_table, ledgers_table
    from pyspark_pulsar.read.task.audit_files import audit_files

    files = audit_files(path)
    return _frame(spark, attempts_table(files) if attempts else ledgers_table(files))


def read_options(given: dict[str, Any]) -> ReadOptions:
    """Parse the options of a read. `option_texts` converts the values first."""
    return parse_options(ReadOptions, option_texts(given))


def option_texts(given: Mapping[str, Any]) -> dict[str, str]:
    """Convert option values to texts like `DataFrameReader.options`.

    Options with the value None are omitted. Booleans become `true` and `false`.
    """
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
        if value is not None
    }


def segments_table(survey: Survey) -> pa.Table:
    """Return a table with the schema `SEGMENTS` and the rows of a survey."""
    rows = [_segment(segment, survey.fault) for segment in survey.segments]
    rows += [_table_part(part, survey.fault) for part in survey.tables]
    return pa.Table.from_pylist(rows, SEGMENTS)


def plan_table(plan: BatchPlan) -> pa.Table:
    """Return a table with the schema `PLAN` and the rows of a plan.

    Positions are texts in the form of the option `startingOffsets`.
    """
    from pyspark_pulsar.inspect.planned_splits import planned_splits

    return pa.Table.from_pylist([_split(planned) for planned in planned_splits(plan)], PLAN)


def moment(milliseconds: int | None) -> datetime | None:
    """Convert Unix milliseconds to a time in UTC.

    Return None if `milliseconds` is None, or if `datetime` cannot represent the time.
    """
    if milliseconds is None:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def _segment(segment: Segment, fault: str | None) -> dict[str, Any]:
    ledger = segment.ledger
    of_topic = segment.state != "compacted"
    return {
        "topic": str(segment.partition.topic),
        "partition": segment.partition.index,
        "ledger": ledger.id,
        "state": segment.state,
        "entries": ledger.entries,
        "bytes": ledger.size,
        "opened": moment(ledger.opened_ms) if of_topic else None,
        "closed": moment(ledger.closed_ms or None) if of_topic else None,
        "location": segment.storage,
        "bookies": list(segment.bookies),
        "copy": segment.copy,
        "reader": segment.reader,
        "skipped": segment.skipped,
        "fault": fault,
    }


def _table_part(part: TablePart, fault: str | None) -> dict[str, Any]:
    first, last = part.published or (None, None)
    return {
        "topic": str(part.partition.topic),
        "partition": part.partition.index,
        "state": COLUMNS,
        "rows": part.rows,
        "bytes": part.size,
        "opened": moment(first),
        "closed": moment(last),
        "location": COLUMNS,
        "bookies": [],
        "copy": part.table,
        "reader": COLUMNS if part.is_read else None,
        "skipped": part.skipped,
        "fault": fault,
    }


def _split(planned: PlannedSplit) -> dict[str, Any]:
    split = planned.split
    ledgers = [part.ledger for split_range in planned.ranges for part in split_range.parts or ()]
    return {
        "split": planned.number,
        "task": planned.task,
        "topic": str(split.partition.topic),
        "partition": split.partition.index,
        "start": str(split.start),
        "end": str(split.end),
        "readers": list(planned.readers),
        "ledgers": list(dict.fromkeys(ledgers)),
        "entries": planned.entries,
        "rows": planned.rows,
        "bytes": planned.size,
        "published_from": moment(split.window.published_from),
        "published_before": moment(split.window.published_before),
        "event_before": moment(split.window.event_before),
        "pieces": [_range_row(split_range) for split_range in planned.ranges],
    }


def _range_row(planned: PlannedRange) -> dict[str, Any]:
    return {
        "reader": planned.split_range.location.name,
        "start": str(planned.split_range.start),
        "end": str(planned.split_range.end),
        "ledgers": [part.ledger for part in planned.parts or ()],
        "entries": planned.entries,
        "rows": planned.rows,
        "files": None if planned.file_part is None else planned.file_part.files,
        "bytes": planned.size,
        "copy": planned.copy,
    }
