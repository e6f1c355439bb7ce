"""The command `pyspark-pulsar segments`, which shows the ledgers of a topic and where they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyspark_pulsar.errors import printable
from pyspark_pulsar.tools.cli.read_options import parse_arguments, read_arguments

if TYPE_CHECKING:
    from pyspark_pulsar.inspect.segments import Segment, Survey
    from pyspark_pulsar.inspect.table_parts import TablePart
    from pyspark_pulsar.model.topic import TopicPartition
    from pyspark_pulsar.tools.cli.output.screen import PrintableTable


@click.command(short_help="Show the ledgers of topics.")
@read_arguments()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line for each ledger.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with the ledgers along time to FILE.",
)
def segments(
    topics: tuple[str, ...],
    settings: tuple[str, ...],
    *,
    as_json: bool,
    page: Path | None,
    **flags: str | None,
) -> None:
    """Show the ledgers of TOPIC: state, entries, bytes, times, location and reader.

    The reader is the location from which a batch read with these options would read the ledger.
    """
    from pyspark_pulsar.inspect.segments import survey

    survey_result = survey(parse_arguments(topics, settings, flags))
    if page is not None:
        from pyspark_pulsar.tools.cli.html.page import segments_page

        try:
            page.write_text(segments_page(survey_result), encoding="utf-8")
        except OSError as fault:
            raise click.BadParameter(str(fault), param_hint="--html") from None
        click.echo(f"Wrote {page}", err=True)
    if as_json:
        for line in json_lines(survey_result):
            click.echo(line)
    elif page is None:
        print_survey(survey_result)
    if survey_result.fault and page is None:
        click.echo(f"A read with these options would fail: {printable(survey_result.fault)}", err=True)


def json_lines(survey_result: Survey) -> list[str]:
    """Return one line of JSON for each ledger. Times are ISO 8601 in UTC."""
    from pyspark_pulsar.inspect.tables import segments_table
    from pyspark_pulsar.tools.cli.output.text import json_line

    return [json_line(row) for row in segments_table(survey_result).to_pylist()]


def print_survey(survey_result: Survey) -> None:
    """Print a table for each topic partition."""
    from pyspark_pulsar.tools.cli.output.screen import screen

    console = screen()
    for lane in lanes_of(survey_result):
        console.print(_table(lane))
        console.print()


@dataclass(frozen=True, slots=True)
class Lane:
    """The ledgers of one topic partition, and its rows in the topic's table."""

    partition: TopicPartition
    segments: tuple[Segment, ...]
    part: TablePart | None
    """The part of the topic's table with the rows of this topic partition; None if there is no table."""


def lanes_of(survey_result: Survey) -> list[Lane]:
    """Return a lane for each topic partition, in order."""
    parts = {part.partition: part for part in survey_result.tables}
    segments: dict[TopicPartition, list[Segment]] = {partition: [] for partition in parts}
    for segment in survey_result.segments:
        segments.setdefault(segment.partition, []).append(segment)
    return [
        Lane(partition, tuple(segments[partition]), parts.get(partition)) for partition in sorted(segments)
    ]


def _table(lane: Lane) -> PrintableTable:
    from rich.text import Text

    from pyspark_pulsar.inspect.tables import COLUMNS, moment
    from pyspark_pulsar.tools.cli.output.screen import table_of
    from pyspark_pulsar.tools.cli.output.text import human_bytes, human_count, human_time

    table = table_of(
        heading(lane),
        ("ledger", "state", "entries", "size", "opened (UTC)", "closed (UTC)", "stored in", "read from"),
        right=("ledger", "entries", "size"),
    )
    for segment in lane.segments:
        ledger = segment.ledger
        of_topic = segment.state != "compacted"
        table.add_cells(
            str(ledger.id),
            Text(segment.state, style="bold green" if ledger.is_open else ""),
            human_count(ledger.entries),
            human_bytes(ledger.size),
            human_time(moment(ledger.opened_ms)) if of_topic else "",
            human_time(moment(ledger.closed_ms or None)) if of_topic else "",
            Text(format_location(segment), style=_STYLES.get(segment.storage, "")),
            segment.reader or Text(segment.skipped or "?", style="dim"),
        )
    part = lane.part
    if part is not None:
        first, last = part.published or (None, None)
        table.add_cells(
            "",
            COLUMNS,
            rows_of(part),
            human_bytes(part.size),
            human_time(moment(first)),
            human_time(moment(last)),
            Text(format_part_location(part), style="cyan"),
            COLUMNS if part.is_read else Text(part.skipped or "?", style="dim"),
        )
    return table


_STYLES = {"bookie": "blue", "tiered": "yellow", "compacted": "magenta"}


def heading(lane: Lane) -> str:
    """Return the name of the topic partition, with the totals of its ledgers and of its part of the table.

    The ledgers of the compacted view are not counted.
    """
    from pyspark_pulsar.tools.cli.output.text import human_bytes, plural

    own = [segment.ledger for segment in lane.segments if segment.state != "compacted"]
    entries, size = sum(ledger.entries for ledger in own), sum(ledger.size for ledger in own)
    table = "" if lane.part is None else f"; table: {rows_of(lane.part)}, {human_bytes(lane.part.size)}"
    return (
        f"{printable(str(lane.partition))}: {plural(len(own), 'ledger')}, {entries:,} entries, {human_bytes(size)}"
        f"{table}"
    )


def rows_of(part: TablePart) -> str:
    """Return the number of rows as text."""
    return f"{part.rows:,} rows"


def format_part_location(part: TablePart) -> str:
    """Return a text with the name of the table, the number of its files, and the position at which its rows end."""
    from pyspark_pulsar.tools.cli.output.text import plural

    return f"table {part.table}, {plural(part.files, 'file')}, up to {part.end}"


def format_location(segment: Segment) -> str:
    """Return a text with the location of the offloaded copy, the ids of the bookies, or both."""
    locations = []
    if segment.ledger.offload_id:
        locations.append(segment.copy or "tiered storage")
    if segment.bookies or not segment.ledger.offload_id:
        locations.append(" ".join(("bookies", *segment.bookies)))
    return ", ".join(locations)
