"""`pyspark-pulsar catalog`: what a Spark that is started elsewhere must be told to have the catalog."""

from __future__ import annotations

import click

from pyspark_pulsar.cli.setting import key_and_value


@click.group()
def catalog() -> None:
    """The Spark catalog for Pulsar."""


@catalog.command()
def jar() -> None:
    """Print the path of the catalog's jar, as spark-submit --jars takes it."""
    from pyspark_pulsar.session import catalog_jar

    click.echo(catalog_jar())


@catalog.command()
@click.option("--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy.")
@click.option("--admin-url", metavar="URL", help="Address of the admin REST API.")
@click.option("--catalog", "name", default="pulsar", show_default=True, metavar="NAME", help="Name in Spark.")
@click.option(
    "--python",
    metavar="PATH",
    help="The interpreter with this package that the catalog and the workers run [default: this one].",
)
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any other setting below spark.sql.catalog.NAME, such as pulsar.client.authPluginClassName; repeatable.",
)
def conf(
    service_url: str, admin_url: str | None, name: str, python: str | None, settings: tuple[str, ...]
) -> None:
    """Print the settings of a session with the catalog, as lines of a file.

    For spark-defaults.conf, spark-submit --properties-file, and the server of Spark Connect. Where such a file has jars
    or extensions already, join the lists with commas. Secrets that are given are printed as they are, since the file
    must hold them: keep it from others, or give paths (file:///...) instead.
    """
    from pyspark_pulsar.session import session_conf

    options: dict[str, str] = {}
    for setting in settings:
        key, value = key_and_value(setting, "--option")
        if key in options:
            msg = f"{key} is given twice."
            raise click.BadParameter(msg, param_hint="--option")
        options[key] = value
    lines = session_conf(service_url, admin_url, catalog=name, python=python, options=options)
    for key, value in lines.items():
        click.echo(f"{_escaped(key)} {_escaped(value)}")


def _escaped(value: str) -> str:
    """Spark reads such files as Java does its properties: what a terminal would not print is the same as its UTF-16
    in escapes."""
    text = value.replace("\\", "\\\\")
    return "".join(letter if letter.isprintable() else _utf_16(letter) for letter in text)


def _utf_16(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
