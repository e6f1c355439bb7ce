"""Ownership of the exactly-once sink's journal: other queries get an error before anything of the owner's
changes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from integration.epoch_rows import options
from integration.official import Admin

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import JournalTaken, OptionError, WriterFenced
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.epochs import commit_epoch, take_over
from pyspark_pulsar.write.exactly_once.journal_names import JournalName, journal_of_stream
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import BegunTransaction, PreparedTransaction, Writer


def test_another_query_is_refused_before_it_changes_anything(pulsar: LocalPulsar, topic: str) -> None:
    """The owner is not fenced, even while it decides."""
    owner, journal = Writer("owner", "a", "topic-a"), f"{topic}-journal"
    others = [
        Writer("other", "b", "topic-a"),
        Writer("owner", "b", "topic-b"),
        Writer("job", "job", "topic-a"),
    ]
    with BrokerClient(options(pulsar, topic)) as client, BrokerClient(options(pulsar, topic)) as other:
        sink, intruder = Sink.open(client, journal), Sink.open(other, journal)
        state = take_over(sink, owner)
        transaction = sink.coordinators.begin(60_000)
        sink.journal.write_begun(BegunTransaction(transaction, owner, 0))
        sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition])
        sink.journal.write_marker(transaction)
        with sink.journal.exclusive() as decider:
            for writer in others:
                with pytest.raises(JournalTaken, match="got the journal of streaming query owner to topic-a"):
                    take_over(intruder, writer)
            # Spark calls this when all tasks of a job have failed.
            ExactlyOnce(options(pulsar, topic), JournalName(topic, journal), others[2]).abort(0, [None])
            decider.decide(state)
        commit_epoch(sink, owner, 0, [PreparedTransaction(transaction, 0, 1)])
        found = sink.journal.state()
        assert found is not None
        assert (found.writer, found.epoch, found.done) == (owner, 0, True)


def test_a_released_journal_accepts_another_query(pulsar: LocalPulsar, topic: str) -> None:
    journal = f"{topic}-journal"
    arguments = ["transactions", "resolve", "--journal", journal, "--service-url", pulsar.service_url]
    with BrokerClient(options(pulsar, topic)) as client:
        sink = Sink.open(client, journal)
        take_over(sink, Writer("owner", "a"))
        done = CliRunner().invoke(cli, [*arguments, "--release"], catch_exceptions=False)
        assert "belongs to streaming query owner" in done.output
        assert "released; another query or job can use the journal" in done.output
        with pytest.raises(WriterFenced, match="released by hand"):
            take_over(sink, Writer("owner", "a"))
        take_over(sink, Writer("other", "b"))
        with pytest.raises(JournalTaken):
            take_over(sink, Writer("owner", "c"))


def test_only_the_journal_of_the_named_query_is_resolved(
    pulsar: LocalPulsar, topic: str, tmp_path: Path
) -> None:
    given = options(pulsar, topic)
    name = journal_of_stream(given, f"/{topic}/checkpoint")
    with BrokerClient(given) as client:
        for owner in ("query", "other"):
            take_over(Sink.open(client, name.name_for(owner)), Writer(owner, "a", topic))
    (tmp_path / "metadata").write_text('{"id": "query"}')
    resolve = ["transactions", "resolve", topic, "--service-url", pulsar.service_url, "--abort-open"]
    for arguments, line in (
        (["--query-id", "query"], f"{name.name_for('query')}: nothing is decided."),
        (["--checkpoint", str(tmp_path)], f"{name.name_for('query')}: nothing is decided."),
        (["--query-id", "nobody"], f"{name.name_for('nobody')}: nothing was ever written with this journal."),
        (["--query-id", "query", "--journal", name.name_for("other")], "was not changed"),
    ):
        done = CliRunner().invoke(cli, [*resolve, *arguments], catch_exceptions=False)
        assert line in done.output, done.output
    with pytest.raises(OptionError, match="expected a local folder with Spark's file metadata"):
        CliRunner().invoke(cli, [*resolve, "--checkpoint", f"/{topic}/checkpoint"], catch_exceptions=False)


def test_removing_a_journal_ends_its_transactions(
    pulsar: LocalPulsar, topic: str, admin: Admin, tmp_path: Path
) -> None:
    query = "00000000-1111-2222-3333-444444444444"
    (tmp_path / "metadata").write_text(json.dumps({"id": query}))
    given = options(pulsar, topic)
    journal = journal_of_stream(given, str(tmp_path)).name_for(query)
    urls = ["--service-url", pulsar.service_url, "--admin-url", pulsar.admin_url]
    arguments = ["transactions", "remove-journal", topic, "--checkpoint", str(tmp_path), *urls]
    admin.create(topic)
    with BrokerClient(given) as client:
        writer, sink = Writer(query, "a", topic), Sink.open(client, journal)
        take_over(sink, writer)
        transaction = sink.coordinators.begin(600_000)
        sink.journal.write_begun(BegunTransaction(transaction, writer, 0, (topic,)))
        sink.coordinators.add_partitions(transaction, [sink.journal.marker_partition, topic])
        other = Writer("other", "b", topic)
        take_over(Sink.open(client, f"{journal}-other"), other)
        foreign = [
            "transactions",
            "remove-journal",
            "--journal",
            f"{journal}-other",
            "--query-id",
            query,
            *urls,
        ]
        assert "and was not changed" in CliRunner().invoke(cli, [*foreign, "--yes"]).output
        done = CliRunner().invoke(cli, [*arguments, "--yes"], catch_exceptions=False)
        assert f"{journal}: removed." in done.output
        assert sink.coordinators.still_open([transaction], topic) == []
        left = {name for name in admin.topics() if name.startswith(journal)}
        assert left == {f"{journal}-other-{part}" for part in ("begun", "decided", "ended")}
        again = CliRunner().invoke(cli, [*arguments, "--yes"], catch_exceptions=False)
        assert f"{journal}: the journal does not exist." in again.output
        assert {name for name in admin.topics() if name.startswith(journal)} == left
