"""The command `pyspark-pulsar plan`, which shows the splits of a batch read without running the read."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import click

from pyspark_pulsar.errors import printable
from pyspark_pulsar.tools.cli.read_options import parse_arguments, read_arguments

if TYPE_CHECKING:
    from pyspark_pulsar.client.ledger import Ledger
    from pyspark_pulsar.inspect.planned_splits import PlannedRange, PlannedSplit
    from pyspark_pulsar.inspect.segments import Segment
    from pyspark_pulsar.options import ReadOptions
    from pyspark_pulsar.read.batch.batch_plan import BatchPlan
    from pyspark_pulsar.read.split import Split
    from pyspark_pulsar.tools.cli.output.screen import PrintableTable


@click.command(short_help="Show the splits of a read.")
@read_arguments()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line for each split.")
def plan(topics: tuple[str, ...], settings: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Show the splits of a batch read of TOPIC, and the ledgers that are not read.

    The output contains the range, the location, the entries and the bytes of each split. For ledgers that are not read,
    the output contains the reason.
    """
    from pyspark_pulsar.read.batch.batch_plan import plan_batch

    options = parse_arguments(topics, settings, flags)
    batch_plan = plan_batch(options, is_shown=True, fails_fast=True)
    if as_json:
        for line in json_lines(batch_plan):
            click.echo(line)
    else:
        print_plan(batch_plan, skipped_segments(options, batch_plan))


def json_lines(batch_plan: BatchPlan) -> list[str]:
    """Return one line of JSON for each split. Times are ISO 8601 in UTC."""
    from pyspark_pulsar.inspect.tables import plan_table
    from pyspark_pulsar.tools.cli.output.text import json_line

    return [json_line(row) for row in plan_table(batch_plan).to_pylist()]


def skipped_segments(options: ReadOptions, batch_plan: BatchPlan) -> list[Segment]:
    """Return the ledgers that no split reads, except ledgers of the compacted view.

    If the ledgers of a topic partition are unknown, the result has no ledgers of this topic partition.
    """
    from pyspark_pulsar.inspect.segments import segments_of
    from pyspark_pulsar.read.bounds.timestamps import resolve_windows

    windows = resolve_windows(options, [planned.partition for planned in batch_plan.partitions])
    return [
        segment
        for planned in batch_plan.partitions
        if planned.ledgers is not None
        for segment in segments_of(
            options, planned.partition, planned.ledgers, planned, windows[planned.partition]
        )
        if segment.reader is None and segment.state != "compacted"
    ]


def print_plan(batch_plan: BatchPlan, skipped: list[Segment]) -> None:
    """Print the splits, the totals, and notes about the plan."""
    from pyspark_pulsar.inspect.planned_splits import planned_splits
    from pyspark_pulsar.tools.cli.output.screen import screen

    console, splits = screen(), planned_splits(batch_plan)
    if splits:
        console.print(_table(splits))
    for line in (totals(splits), *unknown(batch_plan), *pruned(skipped), *noted(batch_plan)):
        console.print(printable(line), soft_wrap=True)


def totals(splits: list[PlannedSplit]) -> str:
    """Return a line with the totals of the whole read and of each location."""
    from pyspark_pulsar.tools.cli.output.text import plural

    by_reader: dict[str, list[PlannedRange]] = defaultdict(list)
    for split in splits:
        for split_range in split.ranges:
            by_reader[split_range.split_range.location.name].append(split_range)
    everything = [split_range for split in splits for split_range in split.ranges]
    tasks = len({split.task for split in splits})
    count = plural(len(splits), "split") + (f" in {plural(tasks, 'task')}" if tasks < len(splits) else "")
    text = f"{count}: {_amount(everything)}"
    parts = [f"{reader} {_amount(ranges)}" for reader, ranges in sorted(by_reader.items())]
    return f"{text} ({'; '.join(parts)})" if parts else "Nothing to read."


def unknown(batch_plan: BatchPlan) -> list[str]:
    """Return a list with one line, which names the topic partitions whose ledgers are unknown.

    If all ledgers are known, the list is empty.
    """
    from pyspark_pulsar.read.location import RowLocation

    names = [
        str(planned.partition)
        for planned in batch_plan.partitions
        if planned.ledgers is None
        and any(
            not isinstance(split_range.location, RowLocation)
            for split in planned.splits
            for split_range in split.ranges
        )
    ]
    if not names:
        return []
    return [f"The ledgers of {', '.join(names)} are unknown; set admin.url to see entries and bytes."]


def noted(batch_plan: BatchPlan) -> list[str]:
    """Return a line for each note in the plan."""
    return [f"Note: {note}" for note in batch_plan.notes]


def pruned(skipped: list[Segment]) -> list[str]:
    """Return a line for each topic partition and reason, with the totals of the ledgers that are not read."""
    from pyspark_pulsar.tools.cli.output.text import human_bytes, plural, ranges

    groups: dict[tuple[str, str], list[Ledger]] = defaultdict(list)
    for segment in skipped:
        groups[str(segment.partition), segment.skipped or "?"].append(segment.ledger)
    return [
        f"Not read of {partition}: {plural(len(ledgers), 'ledger')} ({ranges([ledger.id for ledger in ledgers])}), "
        f"{sum(ledger.entries for ledger in ledgers):,} entries, "
        f"{human_bytes(sum(ledger.size for ledger in ledgers))}: {reason}"
        for (partition, reason), ledgers in groups.items()
    ]


def _amount(ranges: list[PlannedRange]) -> str:
    """Return a text with the number of entries in ledgers, the number of rows in tables, and the total size."""
    from pyspark_pulsar.tools.cli.output.text import human_bytes, plural

    of_ledgers = [split_range for split_range in ranges if split_range.file_part is None]
    parts = [split_range.file_part for split_range in ranges if split_range.file_part is not None]
    entries = [split_range.entries for split_range in of_ledgers if split_range.entries is not None]
    if len(entries) < len(of_ledgers):
        return "? entries"
    amounts = [f"{sum(entries):,} entries"] if of_ledgers or not parts else []
    if parts:
        files = plural(sum(part.files for part in parts), "file")
        amounts.append(f"about {sum(part.rows for part in parts):,} rows in {files}")
    size = sum(split_range.size or 0 for split_range in ranges)
    return f"{' and '.join(amounts)}, about {human_bytes(size)}"


def _table(splits: list[PlannedSplit]) -> PrintableTable:
    from pyspark_pulsar.tools.cli.output.screen import table_of
    from pyspark_pulsar.tools.cli.output.text import human_bytes, human_count, ranges

    table = table_of(
        f"Topic partition {splits[0].split.partition}" if _is_one(splits) else "All topic partitions",
        ("split", "topic partition", "from", "to", "read from", "ledgers", "entries", "rows", "size"),
        right=("split", "entries", "rows", "size"),
    )
    for split in splits:
        for index, split_range in enumerate(split.ranges):
            parts = split_range.parts or ()
            table.add_cells(
                str(split.number) if index == 0 else "",
                _name(split.split) if index == 0 else "",
                str(split_range.split_range.start),
                str(split_range.split_range.end),
                split_range.split_range.location.name,
                ranges(list(dict.fromkeys(part.ledger for part in parts))),
                human_count(split_range.entries) if split_range.file_part is None else "",
                human_count(split_range.rows) if split_range.file_part is not None else "",
                human_bytes(split_range.size),
            )
    return table


def _name(split: Split) -> str:
    """Return the name of a split's topic partition, with the hash slots if the split reads only some of the keys."""
    if split.slots is None:
        return str(split.partition)
    first, end = split.slots
    return f"{split.partition}, slots {first} to {end - 1}"


def _is_one(splits: list[PlannedSplit]) -> bool:
    return len({split.split.partition for split in splits}) == 1
