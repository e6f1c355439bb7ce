"""The command `pyspark-pulsar layout`, which shows the segments of a scalable topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pyspark_pulsar.tools.cli.read_options import parse_arguments, read_arguments

if TYPE_CHECKING:
    from pyspark_pulsar.model.topic_layout import TopicLayout


@click.command(short_help="Show the segments of a scalable topic.")
@read_arguments()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line for each segment.")
def layout(topics: tuple[str, ...], settings: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Show the segments of TOPIC, a scalable topic of Pulsar 5 (topic://...).

    The columns are the number of the segment, its state, its range of key hashes, its parents, and its name. Options
    such as startingOffsets use this name for positions of the segment.
    """
    from pyspark_pulsar.inspect.topic_layouts import layout_table, topic_layouts
    from pyspark_pulsar.tools.cli.output.text import json_line

    layouts = topic_layouts(parse_arguments(topics, settings, flags))
    if as_json:
        for row in layout_table(layouts).to_pylist():
            click.echo(json_line(row))
    else:
        print_layouts(layouts)


def print_layouts(layouts: list[TopicLayout]) -> None:
    """Print a table of segments for each topic."""
    from pyspark_pulsar.inspect.topic_layouts import layout_table
    from pyspark_pulsar.tools.cli.output.screen import screen, table_of

    console = screen()
    for each in layouts:
        table = table_of(str(each.topic), ["segment", "state", "hashes", "parents", "name"], ["segment"])
        for row in layout_table([each]).to_pylist():
            hashes = f"{row['first_hash']:04x} to {row['last_hash']:04x}"
            parents = ", ".join(map(str, row["parents"]))
            table.add_cells(str(row["segment"]), row["state"], hashes, parents, row["name"])
        console.print(table)
