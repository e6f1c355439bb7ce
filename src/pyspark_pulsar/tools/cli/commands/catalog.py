"""The command `pyspark-pulsar catalog`, for Spark sessions that another program starts.

The command prints the path of the jar, and the settings that add the catalog to such a session.
"""

from __future__ import annotations

import click

from pyspark_pulsar.tools.cli.setting import key_and_value


@click.group()
def catalog() -> None:
    """Configure the Spark catalog for Pulsar."""


@catalog.command(short_help="Print the path of the jar.")
def jar() -> None:
    """Print the path of the catalog's jar, for spark-submit --jars."""
    from pyspark_pulsar.session.configure import catalog_jar

    click.echo(catalog_jar())


@catalog.command(short_help="Print the settings of a session.")
@click.option("--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy.")
@click.option("--admin-url", metavar="URL", help="Address of the admin REST API.")
@click.option("--catalog", "name", default="pulsar", show_default=True, metavar="NAME", help="Name in Spark.")
@click.option(
    "--python",
    metavar="PATH",
    help="Interpreter with this package, for the catalog and the workers [default: this one].",
)
@click.option(
    "--jar",
    metavar="PATH",
    help="Location of the catalog's jar for Spark; local:///path is a file that exists on all machines [default: this "
    "package's].",
)
@click.option(
    "--checkpoints",
    type=click.Choice(["default", "rocksdb"]),
    help="State store of streams; also sets the best settings for checkpoints in Pulsar with this store.",
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
    """Print the settings that a session with the catalog needs, as lines of a properties file.

    Use the file as spark-defaults.conf, with spark-submit --properties-file, or for the server of Spark Connect. If
    your file already sets jars or extensions, join the old and new values with commas. The output contains the secrets
    that you pass, because the session needs them. Protect the file, or pass paths of secret files (file:///...) instead
    of secrets.
    """
    from pyspark_pulsar.java_properties import properties_text
    from pyspark_pulsar.session.configure import session_conf

    options: dict[str, str] = {}
    for setting in settings:
        key, value = key_and_value(setting, "--option")
        if key in options:
            msg = f"{key} is set twice; remove one of them."
            raise click.BadParameter(msg, param_hint="--option")
        options[key] = value
    lines = session_conf(
        service_url, admin_url, catalog=name, checkpoints=checkpoints, python=python, jar=jar, options=options
    )
    click.echo(properties_text(lines), nl=False)
