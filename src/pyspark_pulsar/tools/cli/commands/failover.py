"""The command `pyspark-pulsar failover`, which finds where a streaming query resumes in another cluster.

The command runs without Spark.
"""

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


@click.command(short_help="Show where a query resumes in another cluster.")
@click.argument("checkpoint", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from",
    "cluster",
    required=True,
    metavar="CLUSTER",
    help="Name of the cluster that the query has read from.",
)
@click.option(
    "--service-url", required=True, metavar="URL", help="Brokers of the cluster where the query resumes."
)
@click.option(
    "--admin-url", required=True, metavar="URL", help="Admin REST API of the cluster where the query resumes."
)
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any option of spark.read, such as the authentication options; repeatable.",
)
@click.option(
    "--margin",
    default="10m",
    show_default=True,
    help="Largest difference of clocks plus largest delay of replication.",
)
@click.option(
    "--one-way", is_flag=True, help="All messages were produced in the cluster of --from until it failed."
)
@click.option(
    "--read-since",
    metavar="TIME",
    help="The query had read all messages that any cluster published before this time: ISO 8601 or Unix milliseconds.",
)
@click.option("--source", type=click.IntRange(min=0), help="Number of the query's Pulsar source, from 0.")
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write a copy of the checkpoint, with which the query resumes and keeps its state.",
)
@click.option("--json", "as_json", is_flag=True, help="Print only startingOffsets.")
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
    """Show where a streaming query resumes in another cluster, to which its topics are replicated.

    CHECKPOINT is a copy of the query's checkpointLocation in a local folder, or a file with the endOffset of the
    query's last progress. The command works even if the cluster that the query has read from is down.
    """
    from pyspark_pulsar.options import ReadOptions, parse_options
    from pyspark_pulsar.options.parsers import duration, instant, topic_text
    from pyspark_pulsar.tools.failover.committed_offset import committed_offset, copy_moved
    from pyspark_pulsar.tools.failover.resume import PreviousCluster, resume_points

    previous = PreviousCluster(
        cluster,
        _parse_argument(margin, duration, "--margin"),
        is_only_source=one_way,
        read_since_ms=None if read_since is None else _parse_argument(read_since, instant, "--read-since"),
    )
    committed = committed_offset(checkpoint, source)
    read_until = committed.offset.positions
    texts = dict(key_and_value(setting, "--option") for setting in settings)
    texts |= {"service.url": service_url, "admin.url": admin_url}
    options = parse_options(ReadOptions, texts | {"topic": topic_text(min(read_until).name)})
    points = resume_points(options, previous, read_until)
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


def _parse_argument(text: str, parse: Callable[[str], Value], hint: str) -> Value:
    try:
        return parse(text)
    except ValueError as fault:
        msg = f"expected {fault}, got {text!r}."
        raise click.BadParameter(msg, param_hint=hint) from None


def _print(points: Sequence[ResumePoint], cluster: str) -> None:
    from pyspark_pulsar.tools.cli.output.screen import screen, table_of
    from pyspark_pulsar.tools.cli.output.text import human_count

    table = table_of(
        "Where the query resumes",
        ("topic partition", f"read in {cluster} up to", "resumes at", "entries that may be read again"),
        right=("entries that may be read again",),
    )
    for point in points:
        table.add_cells(
            point.partition.name, str(point.read_until), str(point.position), human_count(point.repeated)
        )
    screen().print(table)


def _notes(points: Sequence[ResumePoint], cluster: str) -> list[str]:
    return [
        f"Note: {point.partition.name}: this cluster has no message of {cluster} that the query has read. Retention "
        f"may also have removed messages that the query has not read."
        for point in points
        if not point.is_bounded
    ]
