"""The command `pyspark-pulsar standalone`, which runs a local Pulsar server."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyspark_pulsar.errors import printable
from pyspark_pulsar.tools.cli.setting import key_and_value

if TYPE_CHECKING:
    from pyspark_pulsar.tools.standalone import InstanceStatus, LocalPulsar

_NAME = click.option("--name", default="default", show_default=True, help="Name of the instance.")
_DATA = click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), help="Data folder [default: in the cache]."
)


@click.group(short_help="Run a real Pulsar server on this machine.")
def standalone() -> None:
    """Run a real Pulsar server on this machine, for a first try and for tests."""


@standalone.command(short_help="Start a server, which runs until `stop`.")
@_NAME
@_DATA
@click.option(
    "--server-version",
    metavar="VERSION",
    help="Version of Pulsar, such as 4.2.4 [default: the version of the last start on the data, or 4.0.8].",
)
@click.option(
    "--broker-port", type=click.IntRange(1, 65535), help="Port of the broker [default: a free port]."
)
@click.option(
    "--web-port", type=click.IntRange(1, 65535), help="Port of the admin REST API [default: a free port]."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Extra server setting; repeatable."
)
@click.option(
    "--deadline", default=180.0, show_default=True, help="Seconds to wait until the server is healthy."
)
def start(
    name: str,
    data: Path | None,
    server_version: str | None,
    broker_port: int | None,
    web_port: int | None,
    settings: tuple[str, ...],
    deadline: float,
) -> None:
    """Start a server. The server runs until you stop it, even after this shell ends."""
    from pyspark_pulsar.tools.standalone import LocalPulsar

    server = LocalPulsar(
        name=name,
        version=server_version,
        data=data,
        broker_port=broker_port,
        web_port=web_port,
        config=dict(key_and_value(setting, "--set") for setting in settings),
        start_deadline_seconds=deadline,
    )
    began = time.monotonic()
    started = server.start()
    seconds = time.monotonic() - began
    click.echo(f"Pulsar is ready after {seconds:.1f} s." if started else "Pulsar already runs.")
    _show(server)


@standalone.command()
@_NAME
@_DATA
def stop(name: str, data: Path | None) -> None:
    """Stop a server, and keep its data."""
    from pyspark_pulsar.tools.standalone import LocalPulsar

    server = LocalPulsar(name=name, data=data)
    stopped = server.stop()
    click.echo(f"Pulsar on {server.data} is stopped." if stopped else f"No Pulsar runs on {server.data}.")


@standalone.command()
@_NAME
@_DATA
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def status(name: str, data: Path | None, *, as_json: bool) -> None:
    """Show whether a server runs, and its addresses."""
    from pyspark_pulsar.tools.standalone import LocalPulsar

    server = LocalPulsar(name=name, data=data)
    if as_json:
        click.echo(json.dumps(_facts(server.status())))
    else:
        _show(server)


def _show(server: "LocalPulsar") -> None:
    facts = _facts(server.status())
    width = max(map(len, facts))
    for key, value in facts.items():
        if value is not None:
            click.echo(f"  {key:<{width}}  {printable(str(value))}")


def _facts(shown: "InstanceStatus") -> dict[str, str | int | None]:
    return {
        "state": str(shown.state),
        "service_url": shown.service_url,
        "admin_url": shown.admin_url,
        "pid": shown.pid,
        "version": shown.version,
        "data": str(shown.data),
        "log": str(shown.log_file),
    }
