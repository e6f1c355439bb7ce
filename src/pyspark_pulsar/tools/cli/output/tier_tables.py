"""The output of `pyspark-pulsar tier`: results of a run, and the status of topics."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pyspark_pulsar.errors import printable
from pyspark_pulsar.history.tiering.status import TierStatus, status_rows
from pyspark_pulsar.history.tiering.topic_rounds import TopicOutcome
from pyspark_pulsar.tools.cli.output.screen import screen, table_of
from pyspark_pulsar.tools.cli.output.text import human_bytes, human_count, json_line, plural


def print_lines(known: Sequence[TierStatus]) -> None:
    """Print a line of JSON for each topic partition."""
    for row in status_rows(known):
        click.echo(json_line(row))


def print_table(known: Sequence[TierStatus]) -> None:
    """Print a table with a row for each topic, then faults and warnings."""
    numbers = (
        "rows",
        "files",
        "bytes",
        "untiered ledgers",
        "untiered bytes",
        "lag in seconds",
        "retention used",
    )
    shown = table_of("Tiers", ("topic", "table", "format", *numbers), right=numbers)
    for topic in known:
        shown.add_cells(
            str(topic.topic),
            topic.table,
            topic.format or "none",
            human_count(topic.rows),
            human_count(topic.files),
            human_bytes(topic.size),
            human_count(topic.untiered_ledgers),
            human_bytes(topic.untiered_bytes),
            f"{topic.lag_seconds:,.0f}",
            "" if topic.retention_used is None else f"{topic.retention_used:.0%}",
        )
    screen().print(shown)
    for topic in known:
        if topic.fault is not None:
            click.echo(f"{printable(str(topic.topic))}: {topic.fault}", err=True)
        if topic.warning is not None:
            click.echo(printable(topic.warning), err=True)


def print_outcome(outcome: TopicOutcome, *, as_json: bool) -> None:
    """Print the result for one topic to standard output, and a fault to standard error."""
    if as_json:
        row = {
            "topic": str(outcome.topic),
            "rows": outcome.rows,
            "files": outcome.files,
            "bytes": outcome.size,
            "fault": None if outcome.fault is None else str(outcome.fault),
        }
        click.echo(json_line(row))
        return
    name = printable(str(outcome.topic))
    if not outcome.files and outcome.fault is None:
        click.echo(f"{name}: nothing to do; the open ledger is tiered after it closes")
    elif outcome.rows or outcome.fault is None:
        click.echo(
            f"{name}: {plural(outcome.rows, 'row')} in {plural(outcome.files, 'file')}, {human_bytes(outcome.size)}"
        )
    if outcome.fault is not None:
        click.echo(f"{name}: {type(outcome.fault).__name__}: {outcome.fault}", err=True)
