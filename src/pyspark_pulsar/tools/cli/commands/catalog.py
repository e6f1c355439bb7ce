"""`pyspark-pulsar catalog`: what a Spark that is started elsewhere must be told to have the catalog."""

from __future__ import annotations

import click

from pyspark_pulsar.tools.cli.setting import key_and_value


@click.group()
def catalog() -> None:
    """The Spark catalog for Pulsar."""


@catalog.command(short_help="Print the path of the jar.")
def jar() -> None:
    """Print the path of the catalog's jar, as spark-submit --jars takes it."""
    from pyspark_pulsar.session.configure import catalog_jar

    click.echo(catalog_jar())


@catalog.command(short_help="Print the settings of a session.")
@click.option("--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy.")
@click.option("--admin-url", metavar="URL", help="Address of the admin REST API.")
@click.option("--catalog", "name", default="pulsar", show_default=True, metavar="NAME", help="Name in Spark.")
@click.option(
    "--python",
    metavar="PATH",
    help="The interpreter with this package that the catalog and the workers run [default: this one].",
)
@click.option(
    "--jar",
    metavar="PATH",
    help="Where Spark gets the catalog's jar from; local:///path is a file that all machines have "
    "[default: this package's].",
)
@click.option(
    "--checkpoints",
    type=click.Choice(["default", "rocksdb"]),
    help="What keeps the state of streams; sets what suits checkpoints in Pulsar best with it.",
)
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any other setting below spark.sql.catalog.NAME, such as pulsar.client.authPluginClassName; repeatable.",
)
def conf(
    service_url: str,
    admin_url: str | None,
    name: str,
    python: str | None,
    jar: str | None,
    checkpoints: str | None,
    settings: tuple[str, ...],
) -> None:
    """Print the settings of a session with the catalog, as lines of a file.

    For spark-defaults.conf, spark-submit --properties-file, and the server of Spark Connect. Where such a file has jars
    or extensions already, join the lists with commas. Secrets that are given are printed as they are, since the file
    must hold them: keep it from others, or give paths (file:///...) instead.
    """
    from pyspark_pulsar.java_properties import properties_text
    from pyspark_pulsar.session.configure import session_conf

    options: dict[str, str] = {}
    for setting in settings:
        key, value = key_and_value(setting, "--option")
        if key in options:
            msg = f"{key} is given twice."
            raise click.BadParameter(msg, param_hint="--option")
        options[key] = value
    lines = session_conf(
        service_url, admin_url, catalog=name, checkpoints=checkpoints, python=python, jar=jar, options=options
    )
    click.echo(properties_text(lines), nl=False)
