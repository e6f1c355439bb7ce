"""`pyspark-pulsar transactions resolve`: end what an exactly-once write has left behind when nobody starts it again."""

from __future__ import annotations

import click


@click.group()
def transactions() -> None:
    """Transactions of exactly-once writes."""


@transactions.command()
@click.argument("topic")
@click.option("--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy.")
@click.option("--checkpoint", metavar="PATH", help="The checkpointLocation of the streaming query.")
@click.option("--journal", metavar="NAME", help="The transactionJournal of the query or job.")
@click.option(
    "--abort-open", is_flag=True, help="Abort what was not decided too. A query that still runs will fail."
)
def resolve(
    topic: str, service_url: str, checkpoint: str | None, journal: str | None, *, abort_open: bool
) -> None:
    """Commit what was decided for TOPIC and not finished: of batch jobs, or of the query with that checkpoint."""
    from pyspark_pulsar.options import WriteOptions, parse_options
    from pyspark_pulsar.write.delivery import journal_of_batch, journal_of_stream, resolve_journal

    given = {"service.url": service_url, "topic": topic, "deliveryGuarantee": "exactly-once"}
    if journal is not None:
        given["transactionJournal"] = journal
    options = parse_options(WriteOptions, given)
    name = journal_of_batch(options) if checkpoint is None else journal_of_stream(options, checkpoint)
    for line in resolve_journal(options, str(name), abort_open=abort_open):
        click.echo(line)
