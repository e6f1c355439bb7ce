"""`pyspark-pulsar transactions resolve`: end what was left behind by a query or job that nobody starts again."""

from __future__ import annotations

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.exactly_once.epochs import finish_decided
from pyspark_pulsar.write.exactly_once.journal import Journal
from pyspark_pulsar.write.exactly_once.sink import Sink


def resolve_journal(
    options: WriteOptions, prefix: str, *, abort_open: bool, release: bool = False, owner: str | None = None
) -> list[str]:
    """Finish what was decided; what to tell a user of it. With `owner` another's journal is left alone. Raises
    `CommitError` for rows that are missing for good."""
    with BrokerClient.for_planning(options) as client:
        journal = Journal.there(client, prefix)
        state = None if journal is None else journal.state()
        if journal is None or state is None:
            return [f"{prefix}: nothing was ever written with this journal."]
        if owner is not None and state.writer.owner != owner:
            return [f"{prefix}: it belongs to {state.writer}, and was left alone."]
        sink = Sink(client, journal, Coordinators(client))
        state = finish_decided(sink, abort_open=abort_open, release=release) or state
    lines = [f"{prefix}: it belongs to {state.writer}."]
    if state.transactions:
        rows = sum(prepared.rows for prepared in state.transactions)
        count = len(state.transactions)
        committed = (
            f"epoch {state.epoch} of {state.writer.owner} is committed, {rows} rows in {count} transactions"
        )
        lines.append(f"{prefix}: {committed}.")
    else:
        lines.append(f"{prefix}: nothing is decided.")
    if release:
        lines.append(f"{prefix}: released; another query or job may use it.")
    return lines
