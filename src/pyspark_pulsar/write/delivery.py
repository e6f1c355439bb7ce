"""What `deliveryGuarantee` asks for, settled on the driver before any row is sent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from urllib.parse import urlsplit

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.topic import TopicName
from pyspark_pulsar.write.commit import RowsPrepared
from pyspark_pulsar.write.epochs import Sink, abort_epoch, commit_epoch, finish_decided
from pyspark_pulsar.write.journal import Prepared, Writer

_PREFIX = "__pyspark-pulsar"


def journal_of_stream(options: WriteOptions, checkpoint: str | None) -> str | None:
    """The journal of an exactly-once streaming query, the same after a restart; None without that guarantee.

    Raises `OptionError` where nothing tells its name.
    """
    if options.delivery_guarantee != "exactly-once":
        return None
    if options.transaction_journal is not None:
        return _checked(options)
    if checkpoint is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option checkpointLocation of this writeStream, or "
            "transactionJournal, to find what was decided before a restart; got neither"
        )
    return f"{_beside(_topic(options))}-{_digest(_place(checkpoint))}"


def journal_of_batch(options: WriteOptions) -> str | None:
    """The journal of exactly-once jobs that write to the topic; None without that guarantee.

    Raises `OptionError` where rows name their topics and no journal is given.
    """
    if options.delivery_guarantee != "exactly-once":
        return None
    if options.transaction_journal is not None:
        return _checked(options)
    topic = _topic(options)
    return f"{_beside(topic)}-batch-{_digest(str(topic))}"


def check_transactions(options: WriteOptions, journal: str | None) -> None:
    """Raises `OptionError` when the broker has no transactions; makes the journal."""
    if journal is None:
        return
    with BrokerClient.for_planning(options) as client:
        sink = Sink.open(client, journal)
        sink.coordinators.check()
        sink.journal.prepare()


def commit(options: WriteOptions, journal: str, epoch: int, messages: Sequence[object]) -> None:
    """Make the rows of all tasks visible. Driver only. Raises `CommitError`."""
    told = _told(messages)
    if told:
        with BrokerClient(options) as client:
            commit_epoch(Sink.open(client, journal), told[0].writer, epoch, _prepared(told))


def abort(
    options: WriteOptions,
    journal: str,
    epoch: int,
    messages: Sequence[object],
    job: Writer | None = None,
) -> None:
    """Make sure that no row of the epoch becomes visible, unless that is decided already. Driver only."""
    told = _told(messages)
    writer = told[0].writer if told else job
    if writer is None:
        # Every task has failed and has aborted its own transaction. Which others are of this run and not of one that
        # has taken over, nobody can tell here; those of workers that were killed end when the query starts again.
        return
    with BrokerClient(options) as client:
        abort_epoch(Sink.open(client, journal), writer, epoch, _prepared(told))


def resolve_journal(options: WriteOptions, journal: str, *, abort_open: bool) -> list[str]:
    """Finish what was decided; what to tell a user of it. Raises `CommitError` for rows that are missing for good."""
    with BrokerClient.for_planning(options) as client:
        state = finish_decided(Sink.open(client, journal), abort_open=abort_open)
    if state is None:
        return [f"{journal}: nothing was ever written with this journal."]
    if not state.transactions:
        return [f"{journal}: nothing is decided."]
    rows = sum(each.rows for each in state.transactions)
    count = len(state.transactions)
    done = f"epoch {state.epoch} of {state.writer.owner} is committed, {rows} rows in {count} transactions"
    return [f"{journal}: {done}."]


def _told(messages: Sequence[object]) -> list[RowsPrepared]:
    return [each for each in messages if isinstance(each, RowsPrepared)]


def _prepared(messages: Sequence[RowsPrepared]) -> list[Prepared]:
    return [each.prepared for each in messages if each.prepared is not None]


def _checked(options: WriteOptions) -> str:
    name = TopicName.parse(str(options.transaction_journal))
    if not name.is_persistent:
        raise OptionError(
            f"option 'transactionJournal': expected a persistent topic's name, got {name}; make it persistent"
        )
    return str(name)


def _topic(options: WriteOptions) -> TopicName:
    if options.topic is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option transactionJournal where column __topic names the "
            "topics, got neither that nor the option topic, beside which the journal would lie; give the name of a "
            "topic that does not exist, in a namespace where this role may produce and consume"
        )
    return TopicName.parse(options.topic)


def _beside(topic: TopicName) -> str:
    return f"persistent://{topic.namespace}/{_PREFIX}"


def _place(checkpoint: str) -> str:
    """One spelling for the ways in which a local folder can be written."""
    url = urlsplit(checkpoint)
    if url.scheme in ("", "file"):
        return os.path.abspath(url.path)  # noqa: PTH100 -- links stay
    return checkpoint.rstrip("/")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
