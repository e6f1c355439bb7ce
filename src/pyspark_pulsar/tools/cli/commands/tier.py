"""The command `pyspark-pulsar tier`, which writes the history of topics into tables.

The command runs without Spark, on any machine that can reach Pulsar and the tables.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pyspark_pulsar.errors import TierMismatch, printable
from pyspark_pulsar.tools.cli.setting import key_and_value

if TYPE_CHECKING:
    from pyspark_pulsar.history.tiering.definition import TableSettings
    from pyspark_pulsar.history.tiering.topic_rounds import TopicOutcome
    from pyspark_pulsar.model.topic import TopicName
    from pyspark_pulsar.options import ReadOptions
    from pyspark_pulsar.tools.monitoring.exposition import Exposition
    from pyspark_pulsar.tools.monitoring.tier_metrics import TierMetrics

Command = TypeVar("Command", bound=Callable[..., Any])

_FAILED: Final = 1
_DAY_SECONDS: Final = 86_400.0


@click.group(short_help="Manage tables with the history of topics.")
def tier() -> None:
    """Manage Iceberg or Delta tables that contain the history of topics."""


def cluster_arguments(command: Command) -> Command:
    """Add the argument that names topics, and the options that describe the connection to their cluster."""
    for decorate in (
        click.option(
            "--option",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Any option of spark.read; repeatable.",
        ),
        click.option("--admin-url", required=True, metavar="URL", help="Address of the admin REST API."),
        click.option(
            "--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy."
        ),
        click.argument("topics", nargs=-1, metavar="[TOPIC]..."),
    ):
        command = decorate(command)
    return command


def tier_arguments(command: Command) -> Command:
    """Add the arguments of `cluster_arguments`, and options that select topics and name their tables."""
    for decorate in (
        click.option("--table", metavar="TEMPLATE", help="Template for names of tables: option tierTable."),
        click.option(
            "--catalog",
            required=True,
            metavar="JSON|FILE",
            help=(
                "Catalog of the tables: option tierCatalog, as JSON, or a file that contains it. Put secrets into a "
                "file."
            ),
        ),
        click.option("--topics-pattern", metavar="REGEX", help="Instead of TOPIC: all topics that match."),
        click.option(
            "--namespace",
            metavar="TENANT/NAMESPACE",
            help="Instead of TOPIC: the topics of the namespace whose property `tier` selects them.",
        ),
        cluster_arguments,
    ):
        command = decorate(command)
    return command


@tier.command(short_help="Tier closed ledgers.")
@tier_arguments
@click.option(
    "--every", type=float, metavar="SECONDS", help="Run forever, and start a round every SECONDS seconds."
)
@click.option(
    "--processes", type=click.IntRange(1), default=1, show_default=True, help="Processes that read and write."
)
@click.option(
    "--partition-by",
    metavar="FIELDS",
    help="Partitioning of new tables, such as 'day(__publishTime),country'. Default: day(__publishTime).",
)
@click.option("--sort-by", metavar="COLUMNS", help="Order of rows within a row group, for new tables.")
@click.option(
    "--property", "properties", multiple=True, metavar="KEY=VALUE", help="Property of new tables; repeatable."
)
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="With --every: serve metrics for Prometheus at this address.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line for each topic.")
def run(
    *,
    every: float | None,
    metrics: str | None,
    processes: int,
    partition_by: str | None,
    sort_by: str | None,
    properties: tuple[str, ...],
    as_json: bool,
    **arguments: Any,
) -> None:
    """Write the closed ledgers of each TOPIC into its table, except ledgers that the table already contains.

    You can run this command at any time, and several times in parallel. The table itself is the checkpoint, so it
    contains each ledger only once.
    """
    from pyspark_pulsar.history.tiering.round import TierRound
    from pyspark_pulsar.history.tiering.topic_rounds import tier_forever, tier_topics
    from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters
    from pyspark_pulsar.tools.cli.output.tier_tables import print_outcome

    options = _options(arguments)
    if metrics is not None and every is None:
        msg = "--metrics needs --every; set --every, or remove --metrics."
        raise click.UsageError(msg)
    counts, exposition = _expose(metrics)
    writers = ProcessWriters(processes)
    tier_round = TierRound(options, _table_settings(partition_by, sort_by, properties), writers)
    try:
        if every is not None:

            def report(outcome: TopicOutcome) -> None:
                _count(counts, outcome)
                print_outcome(outcome, as_json=as_json)

            failed = not tier_forever(
                tier_round,
                every,
                report,
                _stop_on_signals(),
                by_property=arguments["namespace"] is not None,
                turn_ended=counts.turn_ended,
            )
        else:
            failed = False
            for outcome in tier_topics(tier_round, _topics(options, arguments)):
                failed = failed or outcome.fault is not None
                print_outcome(outcome, as_json=as_json)
    finally:
        writers.close()
        if exposition is not None:
            exposition.close()
    if failed:
        raise SystemExit(_FAILED)


@tier.command(short_help="Show how far topics are tiered.")
@tier_arguments
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line for each topic partition.")
def status(*, as_json: bool, **arguments: Any) -> None:
    """Show how much of each TOPIC is in its table, and how many ledgers, bytes and seconds the table still lacks."""
    from pyspark_pulsar.history.tiering.status import tier_status
    from pyspark_pulsar.tools.cli.output.tier_tables import print_lines, print_table

    options = _options(arguments)
    known = tier_status(options, _topics(options, arguments))
    (print_lines if as_json else print_table)(known)
    if any(topic.fault for topic in known):
        raise SystemExit(_FAILED)


@tier.command(short_help="Combine small files, and delete unused ones.")
@tier_arguments
@click.option(
    "--expire-days",
    type=float,
    default=5.0,
    show_default=True,
    help="Expire versions of the tables that are older than this number of days.",
)
@click.option(
    "--sweep-days",
    type=float,
    default=1.0,
    show_default=True,
    help="Delete files that no version of the table names and that are older than this number of days.",
)
def compact(*, expire_days: float, sweep_days: float, **arguments: Any) -> None:
    """Combine small files into few large ones, and delete files and versions that are not needed any more."""
    from pyspark_pulsar.history.columnar.table import TableMoved
    from pyspark_pulsar.history.columnar.topic_tables import TopicTables
    from pyspark_pulsar.history.tiering.faults import catalog_settings, topic_fault
    from pyspark_pulsar.history.tiering.upkeep import keep_up

    options = _options(arguments)
    tables, failed = TopicTables(options), False
    for topic in _topics(options, arguments):
        try:
            table = tables.load(topic)
            if table is None:
                click.echo(f"{printable(str(topic))}: no table")
                continue
            done = keep_up(
                table, sweep_after=sweep_days * _DAY_SECONDS, expire_after=expire_days * _DAY_SECONDS
            )
        except TableMoved:
            click.echo(
                f"{printable(str(topic))}: not compacted, because another writer has committed; run the command again"
            )
        except Exception as fault:  # noqa: BLE001 - the upkeep of other tables continues
            failed = True
            named = topic_fault(str(topic), fault, catalog_settings(options))
            click.echo(f"{printable(str(topic))}: {named}", err=True)
        else:
            click.echo(
                f"{done.table}: {done.compacted} files became {done.made}, {done.swept} unused files deleted, "
                f"{done.expired} versions expired"
            )
    if failed:
        raise SystemExit(_FAILED)


@tier.command()
@tier_arguments
@click.option("--keep-files", is_flag=True, help="Remove the table from the catalog, and keep its files.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def drop(*, keep_files: bool, yes: bool, **arguments: Any) -> None:
    """Drop the tables of each TOPIC. This also deletes messages that retention has removed from the topics."""
    from pyspark_pulsar.client.admin.client import AdminClient
    from pyspark_pulsar.history.columnar.topic_tables import TopicTables
    from pyspark_pulsar.history.tiering.topic_note import drop_table

    options, failed = _options(arguments), False
    topics = _named_topics(options, "drop: expected names of topics, got a pattern or a namespace")
    tables = TopicTables(options)
    with AdminClient.for_planning(options) as admin:
        for topic in topics:
            name = tables.identifier(topic)
            if not yes:
                click.confirm(f"Drop table {name}?", abort=True)
            try:
                dropped = drop_table(admin, tables, topic, keep_files=keep_files)
            except TierMismatch as fault:
                failed = True
                click.echo(f"{name}: {fault}", err=True)
            else:
                click.echo(f"{name}: {'dropped' if dropped else 'no such table'}")
    if failed:
        raise SystemExit(_FAILED)


@tier.command(short_help="Forget the tables of topics.")
@cluster_arguments
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def forget(*, yes: bool, **arguments: Any) -> None:
    """Remove the record in Pulsar that names the table of each TOPIC.

    The next round then creates a new table in the configured catalog.

    The old table is not changed. The old table has the only copy of messages that retention has removed from the topic.
    """
    from pyspark_pulsar.client.admin.client import AdminClient
    from pyspark_pulsar.history.tiering.topic_note import remove_note

    options = _options(arguments)
    topics = _named_topics(options, "forget: expected names of topics, got a pattern")
    with AdminClient.for_planning(options) as admin:
        for topic in topics:
            name = printable(str(topic))
            if not yes:
                click.confirm(f"Forget the table of {name}?", abort=True)
            forgotten = remove_note(admin, topic)
            click.echo(f"{name}: {'forgotten' if forgotten else 'no table was recorded'}")


def _named_topics(options: ReadOptions, reason: str) -> list[TopicName]:
    """Return the topics that the options name. Raises `click.UsageError` for a pattern."""
    from pyspark_pulsar.model.topic import TopicName

    if options.topics is None:
        msg = f"{reason}; name the topics."
        raise click.UsageError(msg)
    return [TopicName.parse(text).without_partition() for text in options.topics]


def _options(arguments: dict[str, Any]) -> ReadOptions:
    """Parse the options. Raises `OptionError`, and `click.UsageError` unless topics are selected in exactly one way."""
    from pyspark_pulsar.history.tiering.topic_rounds import namespace_pattern
    from pyspark_pulsar.options import ReadOptions, parse_options

    topics, pattern = arguments["topics"], arguments.get("topics_pattern")
    namespace = arguments.get("namespace")
    if namespace is not None and pattern is None:
        pattern = namespace_pattern(namespace)
    elif namespace is not None:
        msg = "Set either --namespace or --topics-pattern, not both."
        raise click.UsageError(msg)
    if bool(topics) == (pattern is not None):
        msg = "Select the topics in exactly one way: name topics, or set --topics-pattern or --namespace."
        raise click.UsageError(msg)
    texts = {"service.url": arguments["service_url"], "admin.url": arguments["admin_url"]}
    texts |= {"topics": json.dumps(topics)} if topics else {"topicsPattern": pattern}
    if "catalog" in arguments:
        texts |= _catalog(arguments["catalog"])
    if arguments.get("table") is not None:
        texts["tierTable"] = arguments["table"]
    for setting in arguments["settings"]:
        key, value = key_and_value(setting, "--option")
        if key in texts:
            msg = f"{key} is set twice; remove one of them."
            raise click.BadParameter(msg, param_hint="--option")
        texts[key] = value
    return parse_options(ReadOptions, texts)


def _topics(options: ReadOptions, arguments: dict[str, Any]) -> list[TopicName]:
    from pyspark_pulsar.history.tiering.topic_rounds import tiered_topics

    return tiered_topics(options, by_property=arguments["namespace"] is not None)


def _catalog(given: str) -> dict[str, str]:
    """Return the option `tierCatalog` from JSON text, or the option `tierCatalogSecrets` from a file.

    Only a file is allowed to contain secrets, because all users of the machine can see the arguments of a command.
    """
    if given.lstrip().startswith("{"):
        return {"tierCatalog": given}
    try:
        return {"tierCatalogSecrets": Path(given).read_text(encoding="utf-8")}
    except OSError as fault:
        raise click.BadParameter(str(fault), param_hint="--catalog") from None


def _table_settings(
    partition_by: str | None, sort_by: str | None, properties: Sequence[str]
) -> TableSettings:
    from pyspark_pulsar.history.tiering.definition import TableSettings, parse_table_settings

    given = tuple(key_and_value(text, "--property") for text in properties)
    return (
        parse_table_settings(partition_by, sort_by, given)
        if partition_by or sort_by or given
        else TableSettings()
    )


def _stop_on_signals() -> Event:
    """Return an event that SIGINT and SIGTERM set. So a running commit is completed before the process ends."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _expose(address: str | None) -> tuple[TierMetrics, Exposition | None]:
    """Return the metrics of this process, and the server that exposes them.

    If `address` is None, the server is None. Raises `OptionError` and `PrerequisiteMissing`.
    """
    from pyspark_pulsar.tools.monitoring.exposition import Exposition
    from pyspark_pulsar.tools.monitoring.tier_metrics import TierMetrics

    counts = TierMetrics()
    if address is None:
        return counts, None
    exposition = Exposition(counts.metrics)
    click.echo(f"Serving metrics at http://{exposition.serve(address)}/metrics", err=True)
    return counts, exposition


def _count(counts: TierMetrics, outcome: TopicOutcome) -> None:
    counts.record(
        str(outcome.topic),
        rows=outcome.rows,
        files=outcome.files,
        size=outcome.size,
        is_fault=outcome.fault is not None,
        retention_used=outcome.retention_used,
    )
