"""The command `pyspark-pulsar`. Each command imports large modules only when it runs, so `--help` is fast."""

import sys

import click

from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.tools.cli.commands.catalog import catalog
from pyspark_pulsar.tools.cli.commands.checkpoint import checkpoint
from pyspark_pulsar.tools.cli.commands.doctor import doctor
from pyspark_pulsar.tools.cli.commands.failover import failover
from pyspark_pulsar.tools.cli.commands.layout import layout
from pyspark_pulsar.tools.cli.commands.monitoring import monitoring
from pyspark_pulsar.tools.cli.commands.plan import plan
from pyspark_pulsar.tools.cli.commands.segments import segments
from pyspark_pulsar.tools.cli.commands.size import size
from pyspark_pulsar.tools.cli.commands.standalone import standalone
from pyspark_pulsar.tools.cli.commands.tier import tier
from pyspark_pulsar.tools.cli.commands.transactions import transactions


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pyspark-pulsar", prog_name="pyspark-pulsar")
def cli() -> None:
    """Apache Pulsar for PySpark."""


cli.add_command(standalone)
cli.add_command(segments)
cli.add_command(plan)
cli.add_command(layout)
cli.add_command(transactions)
cli.add_command(catalog)
cli.add_command(tier)
cli.add_command(checkpoint)
cli.add_command(failover)
cli.add_command(monitoring)
cli.add_command(doctor)
cli.add_command(size)


def main() -> None:
    """Run the command. The exit code is 0, 1 after an error of this package, or 2 for wrong arguments."""
    try:
        cli()
    except PulsarError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
