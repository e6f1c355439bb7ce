"""The command `pyspark-pulsar monitoring`, which writes files for Prometheus and Grafana.

The command runs without Spark.
"""

from __future__ import annotations

from pathlib import Path

import click

from pyspark_pulsar.errors import printable


@click.command(short_help="Write alert rules and a dashboard.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace changed files.")
def monitoring(folder: Path, *, overwrite: bool) -> None:
    """Write alert rules for Prometheus and a dashboard for Grafana into FOLDER.

    The alert rules and the dashboard use the metrics of a PulsarProgressListener.
    """
    from pyspark_pulsar.tools.monitoring.shipped_files import write

    for path in write(folder, overwrite=overwrite):
        click.echo(printable(str(path)))
