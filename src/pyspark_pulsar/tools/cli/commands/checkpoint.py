"""The command `pyspark-pulsar checkpoint`, which manages checkpoints in Pulsar. The command runs without Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pyspark_pulsar.errors import OptionError, PulsarError, printable
from pyspark_pulsar.tools.cli.output.text import human_bytes, human_time, plural
from pyspark_pulsar.tools.cli.setting import key_and_value

if TYPE_CHECKING:
    from pyspark_pulsar.checkpoint.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

_FAILED: Final = 1
_PREFIX: Final = "pulsar+checkpoint://"


@click.group(short_help="Manage checkpoints in Pulsar.")
def checkpoint() -> None:
    """Manage checkpoints of streaming queries in Pulsar.

    The address of a checkpoint is pulsar+checkpoint://tenant/namespace/name.
    """


def cluster_arguments(command: Command) -> Command:
    """Add the options that all commands of this group have.

    A command receives the values of these options as `settings`, `service_url` and `admin_url`.
    """
    for decorate in (
        click.option(
            "--option",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Any option of spark.read, such as the authentication options; repeatable.",
        ),
        click.option("--admin-url", metavar="URL", help="Address of the admin REST API."),
        click.option(
            "--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy."
        ),
    ):
        command = decorate(command)
    return command


@checkpoint.command("ls", short_help="List files and folders.")
@click.argument("path")
@cluster_arguments
@click.option("-r", "--recursive", is_flag=True, help="List all files below PATH.")
def list_files(path: str, *, recursive: bool, **cluster: Any) -> None:
    """List the files and folders in PATH, with length, time of the last change (UTC) and name."""
    from pyspark_pulsar.checkpoint.address import parse_path
    from pyspark_pulsar.checkpoint.commands.copying import entries

    where = parse_path(path)
    with _store(cluster) as store:
        found = entries(store.checkpoint(where.checkpoint), where.parts)
    depth = len(where.parts)
    for entry in found:
        below = entry.path[depth:]
        if (below or entry.id) and (recursive or len(below) <= 1):
            name = "/".join(below or entry.path[-1:]) + ("" if entry.id else "/")
            changed = human_time(datetime.fromtimestamp(entry.modified_ms / 1000, UTC))
            length = str(entry.length) if entry.id else "-"
            click.echo(f"{length:>12}  {changed}  {printable(name)}")


@checkpoint.command(short_help="Show a checkpoint, or one of its files.")
@click.argument("path")
@cluster_arguments
def show(path: str, **cluster: Any) -> None:
    """Show the owner, the files and the logs of the checkpoint at PATH, or the bytes of the file at PATH."""
    from pyspark_pulsar.checkpoint.address import parse_path
    from pyspark_pulsar.checkpoint.commands.checkpoint_description import describe
    from pyspark_pulsar.checkpoint.commands.copying import content, entries

    where = parse_path(path)
    with _store(cluster) as store:
        found = entries(store.checkpoint(where.checkpoint), where.parts)
        if found[0].id:
            for piece in content(store.checkpoint(where.checkpoint), found[0]):
                sys.stdout.buffer.write(piece)
            return
        for name, value in describe(store.checkpoint(where.checkpoint), found):
            click.echo(f"{name + ':':<16} {printable(value)}")


@checkpoint.command(short_help="Compare the checksums of all files.")
@click.argument("path")
@cluster_arguments
def verify(path: str, **cluster: Any) -> None:
    """Read every file of the checkpoint, and compare all checksums.

    The exit code is 1 if a file is damaged or missing.
    """
    from pyspark_pulsar.checkpoint.address import parse_path
    from pyspark_pulsar.checkpoint.commands import copying

    where = parse_path(path)
    files = nbytes = faults = 0
    with _store(cluster) as store:
        for entry, fault in copying.verify(store.checkpoint(where.checkpoint)):
            files += 1
            nbytes += entry.length
            if fault is not None:
                faults += 1
                click.echo(f"Error: {fault}", err=True)
    click.echo(f"{plural(files, 'file')}, {human_bytes(nbytes)}: {faults or 'none'} damaged or missing")
    if faults:
        sys.exit(_FAILED)


@checkpoint.command(short_help="Copy from Pulsar to a folder, or back.")
@click.argument("source")
@click.argument("target")
@cluster_arguments
@click.option("-q", "--quiet", is_flag=True, help="Do not list the files.")
def copy(source: str, target: str, *, quiet: bool, **cluster: Any) -> None:
    """Copy a checkpoint, or a part of a checkpoint, from Pulsar to a local folder, or from a local folder into Pulsar.

    One of SOURCE and TARGET is a path in Pulsar, and the other path is a local folder. TARGET must not contain files.
    If a query will resume with the copy, stop the query before you copy.
    """
    from pyspark_pulsar.checkpoint.address import parse_path
    from pyspark_pulsar.checkpoint.commands import copying

    copied: list[int] = []

    def report(path: str, length: int) -> None:
        copied.append(length)
        if not quiet:
            click.echo(f"{length:>12}  {printable(path)}")

    if source.startswith(_PREFIX) == target.startswith(_PREFIX):
        raise OptionError(
            f"copying {source} to {target}: expected one path in Pulsar ({_PREFIX}...) and one local folder, got two "
            f"of a kind; copy in two steps, through a local folder"
        )
    with _store(cluster) as store:
        if source.startswith(_PREFIX):
            where = parse_path(source)
            copying.copy_out(store.checkpoint(where.checkpoint), where.parts, Path(target), report)
        else:
            copying.copy_in(store, Path(source), parse_path(target), report)
    click.echo(f"{plural(len(copied), 'file')}, {human_bytes(sum(copied))}")


@checkpoint.command(short_help="Delete a checkpoint, or a part of it.")
@click.argument("path")
@cluster_arguments
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def rm(path: str, *, yes: bool, **cluster: Any) -> None:
    """Delete PATH and its content. A query that uses the checkpoint fails at its next write.

    With --admin-url, deleting a whole checkpoint also deletes its two topics.
    """
    from pyspark_pulsar.checkpoint.address import parse_path
    from pyspark_pulsar.checkpoint.commands import copying
    from pyspark_pulsar.checkpoint.commands.removal import remove_topics

    where = parse_path(path)
    if not yes:
        click.confirm(f"Delete {printable(str(where))} and its content?", abort=True)
    fault: PulsarError | None = None
    with _store(cluster) as store:
        options = store.cluster.options
        try:
            existed = copying.remove(store, where)
        except PulsarError as lost:
            # If the index of a checkpoint is lost, the topics of the checkpoint can still be deleted.
            existed, fault = True, lost
    if not where.parts and options.admin_url is not None:
        existed = remove_topics(options, where.checkpoint) or existed
    elif fault is not None:
        raise fault
    click.echo(f"{'deleted' if existed else 'does not exist'}: {printable(str(where))}")


@contextmanager
def _store(cluster: Mapping[str, Any]) -> Iterator[Store]:
    from pyspark_pulsar.checkpoint.clients import ClusterSettings
    from pyspark_pulsar.checkpoint.store import Store

    texts = dict(key_and_value(setting, "--option") for setting in cluster["settings"])
    texts["service.url"] = cluster["service_url"]
    if cluster["admin_url"] is not None:
        texts["admin.url"] = cluster["admin_url"]
    with Store(ClusterSettings.parse(texts)) as store:
        yield store
