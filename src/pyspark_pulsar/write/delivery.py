"""What `deliveryGuarantee` asks for, settled on the driver before any row is sent, and by its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.codec.row_digest import RowDigest
from pyspark_pulsar.errors import CommitUnfinished, PulsarError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.commit import RowsPrepared
from pyspark_pulsar.write.exactly_once.epochs import abort_epoch, commit_epoch, finish_decided
from pyspark_pulsar.write.exactly_once.journal import Journal
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.outcome import in_doubt, until_known
from pyspark_pulsar.write.exactly_once.ownership import refuse_others
from pyspark_pulsar.write.exactly_once.recovery import Sink
from pyspark_pulsar.write.exactly_once.state import Prepared, Writer


def check_transactions(options: WriteOptions, name: JournalName | None, job: Writer | None = None) -> None:
    """Raises `OptionError` when the broker has no transactions, `JournalTaken` when the journal of a job is a stream's;
    makes the journal, where its name is known."""
    if name is None:
        return
    with BrokerClient.for_planning(options) as client:
        if name.fixed is None:
            Coordinators(client).check()
            return
        sink = Sink.open(client, name.fixed)
        sink.coordinators.check()
        if job is not None:
            refuse_others(sink.journal.state(), job, name.fixed)
        sink.journal.prepare()


def commit(options: WriteOptions, epoch: int, messages: Sequence[object]) -> None:
    """Make the rows of all tasks visible. Driver only. Raises what `commit_epoch` does."""
    told = _told(messages)
    if not told:
        return
    content = _content(options, told)

    def attempt() -> None:
        # Anew each time: a connection that is silent may stay so.
        with BrokerClient(options) as client:
            sink = Sink.open(client, told[0].journal)
            commit_epoch(sink, told[0].writer, epoch, _prepared(told), content)

    until_known(attempt, _patience_seconds(options))


def abort(
    options: WriteOptions, epoch: int, messages: Sequence[object], job: tuple[Writer, str] | None = None
) -> None:
    """Make sure that no row of the epoch becomes visible, unless that is decided already. Driver only. `job`, and its
    journal: no streaming query. Raises what `abort_epoch` does."""
    told = _told(messages)
    if told:
        writer, journal = told[0].writer, told[0].journal
    elif job is not None:
        writer, journal = job
    else:
        # Every task has failed and has aborted its own transaction. Which others are of this run and not of one that
        # has taken over, nobody can tell here; those of workers that were killed end when the query starts again.
        return

    def attempt() -> None:
        with BrokerClient(options) as client:
            abort_epoch(Sink.open(client, journal), writer, epoch, _prepared(told))

    try:
        until_known(attempt, _patience_seconds(options))
    except CommitUnfinished:
        raise
    except PulsarError as fault:
        if job is None or len(told) < len(messages):
            raise
        # All tasks had ended, so the commit may have been under way when it failed.
        raise in_doubt(writer, epoch, journal, fault) from fault


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
    said = [f"{prefix}: it belongs to {state.writer}."]
    if state.transactions:
        rows = sum(each.rows for each in state.transactions)
        count = len(state.transactions)
        done = (
            f"epoch {state.epoch} of {state.writer.owner} is committed, {rows} rows in {count} transactions"
        )
        said.append(f"{prefix}: {done}.")
    else:
        said.append(f"{prefix}: nothing is decided.")
    if release:
        said.append(f"{prefix}: released; another query or job may use it.")
    return said


def _patience_seconds(options: WriteOptions) -> float:
    """Behind a decision; when it is over, the broker has ended the transactions by itself."""
    return max(options.transaction_timeout_ms, options.operation_timeout_ms) / 1000


def _content(options: WriteOptions, told: Sequence[RowsPrepared]) -> RowDigest | None:
    if options.repeated_epoch_check == "none":
        return None
    content = reduce(add, (each.content for each in told))
    return content if options.repeated_epoch_check == "rows" else replace(content, digest=None)


def _told(messages: Sequence[object]) -> list[RowsPrepared]:
    return [each for each in messages if isinstance(each, RowsPrepared)]


def _prepared(messages: Sequence[RowsPrepared]) -> list[Prepared]:
    return [each.prepared for each in messages if each.prepared is not None]
