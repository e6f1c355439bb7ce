"""`pyspark-pulsar transactions resolve`: end what an exactly-once write has left behind when nobody starts it again."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import click

from pyspark_pulsar.cli.setting import key_and_value
from pyspark_pulsar.errors import printable


@click.group()
def transactions() -> None:
    """Transactions of exactly-once writes."""


@transactions.command(short_help="End what a dead job has left open.")
@click.argument("topic", required=False)
@click.option("--service-url", required=True, metavar="URL", help="Address of the brokers or the proxy.")
@click.option(
    "--checkpoint",
    metavar="PATH",
    help="The checkpointLocation of the streaming query; its file `metadata` is read for the query's id.",
)
@click.option(
    "--query-id", metavar="ID", help="Spark's id of the streaming query, where PATH is not a local folder."
)
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
@click.option(
    "--release",
    is_flag=True,
    help="As --abort-open, and let another query or job have the journal, as one may that --journal names.",
)
def resolve(
    topic: str | None,
    service_url: str,
    checkpoint: str | None,
    query_id: str | None,
    journal: str | None,
    settings: tuple[str, ...],
    *,
    abort_open: bool,
    release: bool,
) -> None:
    """Commit what was decided for TOPIC and not finished: of batch jobs, or of the query with that checkpoint or
    id. With --journal TOPIC is not needed."""
    from pyspark_pulsar.options import WriteOptions, parse_options
    from pyspark_pulsar.write.exactly_once.journal_names import journal_of_batch, journals_of_query
    from pyspark_pulsar.write.exactly_once.resolve import resolve_journal

    if topic is None and journal is None:
        raise click.UsageError("Missing argument 'TOPIC', or option '--journal'.")
    topic_and_journal = {"topic": topic, "transactionJournal": journal}
    write_options = {
        **dict(key_and_value(setting, "--option") for setting in settings),
        **{key: value for key, value in topic_and_journal.items() if value is not None},
        "service.url": service_url,
        "deliveryGuarantee": "exactly-once",
    }
    options = parse_options(WriteOptions, write_options)
    if journal is not None or (checkpoint is None and query_id is None):
        journals = [journal_of_batch(options).of(owner="")]
    else:
        query_id = query_id or _id_in(checkpoint)
        journals = journals_of_query(options, query_id, checkpoint)
    for prefix in journals:
        for line in resolve_journal(options, prefix, abort_open=abort_open, release=release, owner=query_id):
            click.echo(printable(line))
    if journal is None and checkpoint is not None and query_id is None:
        click.echo(
            f"{printable(checkpoint)}: expected a local folder with Spark's file metadata, which names the query, got "
            f"none; so only a journal of earlier versions was looked for. Give --query-id for another"
        )


def _id_in(checkpoint: str | None) -> str | None:
    """The query's id, where Spark has written it to a local folder."""
    if checkpoint is None:
        return None
    url = urlsplit(checkpoint)
    if url.scheme not in ("", "file"):
        return None
    try:
        return str(json.loads((Path(url.path) / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError):
        return None
