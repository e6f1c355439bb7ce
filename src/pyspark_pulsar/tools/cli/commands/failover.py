"""`pyspark-pulsar failover`: where a streaming query goes on at another cluster. Runs without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from pyspark_pulsar.errors import printable
from pyspark_pulsar.tools.cli.setting import key_and_value

if TYPE_CHECKING:
    from pyspark_pulsar.tools.failover.resume import ResumePoint

Value = TypeVar("Value")


@click.command(short_help="Say where a query goes on elsewhere.")
@click.argument("checkpoint", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from",
    "cluster",
    required=True,
    metavar="CLUSTER",
    help="The cluster that the query has read from, by its name.",
)
@click.option(
    "--service-url", required=True, metavar="URL", help="Of the cluster where the query goes on: its brokers."
)
@click.option("--admin-url", required=True, metavar="URL", help="Of the same cluster: its admin REST API.")
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any option of spark.read, such as those about authentication; repeatable.",
)
@click.option(
    "--margin",
    default="10m",
    show_default=True,
    help="How far clocks may differ, and replication may have been behind.",
)
@click.option(
    "--one-way", is_flag=True, help="Until it failed, all messages were produced in the cluster of --from."
)
@click.option(
    "--read-since",
    metavar="TIME",
    help="The query had read all messages published before this time, by any cluster: ISO 8601 or Unix milliseconds.",
)
@click.option("--source", type=click.IntRange(min=0), help="Which of the query's Pulsar sources, from 0.")
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write a copy of the checkpoint with which the query goes on, and keeps its state.",
)
@click.option("--json", "as_json", is_flag=True, help="Print startingOffsets alone.")
def failover(
    checkpoint: Path,
    cluster: str,
    service_url: str,
    admin_url: str,
    settings: tuple[str, ...],
    margin: str,
    read_since: str | None,
    source: int | None,
    target: Path | None,
    *,
    one_way: bool,
    as_json: bool,
) -> None:
    """Say where a streaming query goes on at another cluster, to which its topics are replicated.

    CHECKPOINT is a copy of the query's checkpointLocation in a local folder, or a file with the endOffset of its last
    progress. The cluster that the query has read from may be down.
    """
    from pyspark_pulsar.options import ReadOptions, parse_options
    from pyspark_pulsar.options.parsers import duration, instant, topic_text
    from pyspark_pulsar.tools.failover.committed_offset import committed_offset, copy_moved
    from pyspark_pulsar.tools.failover.resume import FormerCluster, resume_points

    former = FormerCluster(
        cluster,
        _parsed(margin, duration, "--margin"),
        is_only_source=one_way,
        read_since_ms=None if read_since is None else _parsed(read_since, instant, "--read-since"),
    )
    committed = committed_offset(checkpoint, source)
    read_until = committed.offset.positions
    texts = dict(key_and_value(setting, "--option") for setting in settings)
    texts |= {"service.url": service_url, "admin.url": admin_url}
    options = parse_options(ReadOptions, texts | {"topic": topic_text(min(read_until).name)})
    points = resume_points(options, former, read_until)
    if target is not None:
        positions = {point.partition: point.position for point in points}
        copy_moved(checkpoint, target, committed, positions)
    offsets = {point.partition.name: str(point.position) for point in points} | {"*": "earliest"}
    if as_json:
        click.echo(json.dumps(offsets))
    else:
        _print(points, cluster)
        click.echo(f"startingOffsets: {json.dumps(offsets)}")
    for line in _notes(points, cluster):
        click.echo(printable(line), err=True)


def _parsed(text: str, parse: Callable[[str], Value], hint: str) -> Value:
    try:
        return parse(text)
    except ValueError as fault:
        msg = f"expected {fault}, got {text!r}."
        raise click.BadParameter(msg, param_hint=hint) from None


def _print(points: Sequence[ResumePoint], cluster: str) -> None:
    from pyspark_pulsar.tools.cli.output.screen import screen, table_of
    from pyspark_pulsar.tools.cli.output.text import human_count

    shown = table_of(
        "Where the query goes on",
        ("topic partition", f"read in {cluster} up to", "goes on at", "entries that may come again"),
        right=("entries that may come again",),
    )
    for point in points:
        shown.add_cells(
            point.partition.name, str(point.read_until), str(point.position), human_count(point.repeated)
        )
    screen().print(shown)


def _notes(points: Sequence[ResumePoint], cluster: str) -> list[str]:
    return [
        f"Note: {point.partition.name}: of what the query has read of {cluster} nothing is here. Whether retention has "
        f"removed what it has not read is not known."
        for point in points
        if not point.is_bounded
    ]
