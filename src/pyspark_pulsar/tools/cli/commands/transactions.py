"""The command `pyspark-pulsar transactions`, which ends transactions of queries and jobs that will not start again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from pyspark_pulsar.errors import OptionError, printable
from pyspark_pulsar.tools.cli.setting import key_and_value

if TYPE_CHECKING:
    from pyspark_pulsar.options import WriteOptions

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def transactions() -> None:
    """Manage transactions of exactly-once writes."""


def _cluster_arguments(command: Command) -> Command:
    command = click.option(
        "--option",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any option of df.write, such as the authentication options; repeatable.",
    )(command)
    return click.option(
        "--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy."
    )(command)


def _journal_arguments(command: Command) -> Command:
    """Add the arguments that name a journal and its cluster."""
    for decorate in (
        click.option("--journal", metavar="NAME", help="The transactionJournal of the query or job."),
        click.option(
            "--query-id",
            metavar="ID",
            help="Spark's id of the streaming query, if PATH is not a local folder.",
        ),
        click.option(
            "--checkpoint",
            metavar="PATH",
            help="The checkpointLocation of the streaming query, whose file `metadata` contains the query's id.",
        ),
        _cluster_arguments,
        click.argument("topic", required=False),
    ):
        command = decorate(command)
    return command


@transactions.command(short_help="End open transactions of a dead job.")
@_journal_arguments
@click.option(
    "--abort-open", is_flag=True, help="Also abort undecided transactions. A query that still runs will fail."
)
@click.option(
    "--release",
    is_flag=True,
    help="Like --abort-open, and also release the journal, so that another query or job can use the journal.",
)
def resolve(*, abort_open: bool, release: bool, **arguments: Any) -> None:
    """Commit transactions for TOPIC whose commit was decided but not completed.

    The transactions belong to batch jobs, or to the query that --checkpoint or --query-id names. With --journal, TOPIC
    is not needed.
    """
    from pyspark_pulsar.write.exactly_once.resolve import resolve_journal

    named = _named_journal(**arguments)
    for line in resolve_journal(
        named.options, named.journal, abort_open=abort_open, release=release, owner=named.owner
    ):
        click.echo(printable(line))


@transactions.command(short_help="Delete the journal of a finished query or job.")
@_journal_arguments
@click.option("--admin-url", required=True, metavar="URL", help="Address of the admin REST API.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def remove_journal(*, admin_url: str, yes: bool, **arguments: Any) -> None:
    """Delete the journal of batch jobs that write to TOPIC, or of one streaming query.

    The journal consists of three topics. The option --checkpoint or --query-id names the query.

    Before the deletion, decided transactions are committed, and open transactions are aborted. With --journal, TOPIC is
    not needed. A query that restarts with its checkpoint fails without its journal.
    """
    from pyspark_pulsar.write.exactly_once.resolve import remove_journal as remove

    named = _named_journal(**arguments, admin_url=admin_url)
    if not yes:
        click.confirm(f"Delete the journal {printable(named.journal)}?", abort=True)
    for line in remove(named.options, named.journal, owner=named.owner):
        click.echo(printable(line))


@transactions.command(short_help="Release messages that leftover rows hide.")
@click.argument("topic")
@_cluster_arguments
def unblock(topic: str, service_url: str, settings: tuple[str, ...]) -> None:
    """Release messages of TOPIC that leftover rows hide.

    Leftover rows arrived after their transaction was aborted. Leftover rows hide all messages that arrived later.

    Open transactions stay open, so you can run this command at any time.
    """
    from pyspark_pulsar.model.topic import TopicName
    from pyspark_pulsar.options import WriteOptions, parse_options
    from pyspark_pulsar.write.exactly_once.unblock import unblock_topic

    given = dict(key_and_value(setting, "--option") for setting in settings)
    options = parse_options(WriteOptions, {**given, "topic": topic, "service.url": service_url})
    for partition in unblock_topic(options, TopicName.parse(topic)):
        click.echo(
            f"{printable(partition)}: later messages become visible after all transactions that began before the "
            f"leftover rows have ended."
        )


@dataclass(frozen=True, slots=True)
class _NamedJournal:
    """The journal that the arguments of a command name."""

    options: WriteOptions
    journal: str
    owner: str | None
    """The id of the streaming query; None if the arguments name no query."""


def _named_journal(
    *,
    topic: str | None,
    service_url: str,
    checkpoint: str | None,
    query_id: str | None,
    journal: str | None,
    settings: tuple[str, ...],
    admin_url: str | None = None,
) -> _NamedJournal:
    """Find the journal that the arguments of a command name.

    Raises:
        OptionError: An option has an unexpected value, or the checkpoint does not contain the query's id.
        click.UsageError: The arguments name neither a topic nor a journal.

    """
    from pyspark_pulsar.options import WriteOptions, parse_options
    from pyspark_pulsar.write.exactly_once.journal_names import journal_of_batch, journal_of_stream

    if topic is None and journal is None:
        raise click.UsageError("Missing argument 'TOPIC', or option '--journal'.")
    named = {"topic": topic, "transactionJournal": journal, "admin.url": admin_url}
    write_options = {
        **dict(key_and_value(setting, "--option") for setting in settings),
        **{key: value for key, value in named.items() if value is not None},
        "service.url": service_url,
        "deliveryGuarantee": "exactly-once",
    }
    options = parse_options(WriteOptions, write_options)
    if journal is None and query_id is None and checkpoint is not None:
        query_id = _id_in(checkpoint)
    if journal is not None or query_id is None:
        return _NamedJournal(options, journal_of_batch(options).name_for(owner=""), query_id)
    return _NamedJournal(options, journal_of_stream(options, checkpoint or "/").name_for(query_id), query_id)


def _id_in(checkpoint: str) -> str:
    """Return the id of the query whose checkpoint is in a local folder.

    Raises:
        OptionError: The path is not a local folder with Spark's file `metadata`.

    """
    url = urlsplit(checkpoint)
    if url.scheme in ("", "file"):
        with suppress(OSError, ValueError, KeyError):
            return str(json.loads((Path(url.path) / "metadata").read_text())["id"])
    raise OptionError(
        f"--checkpoint {checkpoint}: expected a local folder with Spark's file metadata, which contains the query's "
        f"id, got none; set --query-id, which Spark logs at the start of a query"
    )
