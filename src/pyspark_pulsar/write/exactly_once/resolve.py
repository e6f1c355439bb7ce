"""The commands `pyspark-pulsar transactions resolve` and `remove-journal`.

`resolve` commits the decided epoch of a query or job that will not start again. `remove-journal` also deletes the
journal of the query or job.
"""

from __future__ import annotations

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.exactly_once.epochs import finish_decided
from pyspark_pulsar.write.exactly_once.journal import Journal, journal_topics
from pyspark_pulsar.write.exactly_once.sink import Sink


def resolve_journal(
    options: WriteOptions, prefix: str, *, abort_open: bool, release: bool = False, owner: str | None = None
) -> list[str]:
    """Commit the decided epoch of a journal, and return lines of text for the user.

    If `owner` is set, the journal of another owner is not changed.

    Raises:
        CommitError: Rows are missing permanently.

    """
    with BrokerClient.for_planning(options) as client:
        journal = Journal.find(client, prefix)
        state = None if journal is None else journal.state()
        if journal is None or state is None:
            return [f"{prefix}: nothing was ever written with this journal."]
        if owner is not None and state.writer.owner != owner:
            return [f"{prefix}: the journal belongs to {state.writer}, and was not changed."]
        sink = Sink(client, journal, Coordinators(client))
        state = finish_decided(sink, abort_open=abort_open, release=release) or state
    lines = [f"{prefix}: the journal belongs to {state.writer}."]
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
        lines.append(f"{prefix}: released; another query or job can use the journal.")
    return lines


def remove_journal(options: WriteOptions, prefix: str, *, owner: str | None = None) -> list[str]:
    """Commit the decided epoch, abort other begun transactions, and delete the topics of the journal.

    Args:
        options: The options of the connections to brokers and to the admin REST API.
        prefix: The name of the journal.
        owner: The id of the query or job; the journal of another owner is not changed. None if the owner does not
            matter.

    Returns:
        Lines of text for the user.

    Raises:
        CommitError: Rows are missing permanently, and no topic was deleted.
        CatalogUnsupported: A query or job still uses the journal.
        OptionError: `admin.url` is missing.

    """
    with AdminClient.for_planning(options) as admin:
        with BrokerClient.for_planning(options) as client:
            journal = Journal.find(client, prefix)
            state = None if journal is None else journal.state()
            if state is not None and owner is not None and state.writer.owner != owner:
                return [f"{prefix}: the journal belongs to {state.writer}, and was not changed."]
            if journal is not None:
                finish_decided(Sink(client, journal, Coordinators(client)), abort_open=True)
        # `-decided` is deleted last, so that the command finds the journal again after an interruption.
        begun, decided, ended = journal_topics(prefix)
        removed = [admin.topics.delete_idle(topic) for topic in (begun, ended, decided)]
    return [f"{prefix}: {'removed' if any(removed) else 'the journal does not exist'}."]
