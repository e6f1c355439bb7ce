"""`pyspark-pulsar transactions resolve`: end what an exactly-once write has left behind when nobody starts it again."""

from __future__ import annotations

import click

from pyspark_pulsar.cli.setting import key_and_value


@click.group()
def transactions() -> None:
    """Transactions of exactly-once writes."""


@transactions.command()
@click.argument("topic", required=False)
@click.option("--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy.")
@click.option("--checkpoint", metavar="PATH", help="The checkpointLocation of the streaming query.")
@click.option("--journal", metavar="NAME", help="The transactionJournal of the query or job.")
@click.option(
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any option of df.write, such as those about authentication; repeatable.",
)
@click.option(
    "--abort-open", is_flag=True, help="Abort what was not decided too. A query that still runs will fail."
)
def resolve(
    topic: str | None,
    service_url: str,
    checkpoint: str | None,
    journal: str | None,
    settings: tuple[str, ...],
    *,
    abort_open: bool,
) -> None:
    """Commit what was decided for TOPIC and not finished: of batch jobs, or of the query with that checkpoint. With
    --journal TOPIC is not needed."""
    from pyspark_pulsar.options import WriteOptions, parse_options
    from pyspark_pulsar.write.delivery import journal_of_batch, journal_of_stream, resolve_journal

    if topic is None and journal is None:
        raise click.UsageError("Missing argument 'TOPIC', or option '--journal'.")
    named = {"topic": topic, "transactionJournal": journal}
    given = {
        **dict(key_and_value(setting, "--option") for setting in settings),
        **{key: value for key, value in named.items() if value is not None},
        "service.url": service_url,
        "deliveryGuarantee": "exactly-once",
    }
    options = parse_options(WriteOptions, given)
    name = journal_of_batch(options) if checkpoint is None else journal_of_stream(options, checkpoint)
    for line in resolve_journal(options, str(name), abort_open=abort_open):
        click.echo(line)
