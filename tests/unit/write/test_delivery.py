"""The needs of a guarantee, and the journal's name, which is stable over restarts and differs between queries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.delivery import WithoutTransactions
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.journal_names import (
    JournalName,
    journal_of_batch,
    journal_of_stream,
)
from pyspark_pulsar.write.guarantee import delivery_of_job, delivery_of_query

OPTIONS = parse_options(
    WriteOptions,
    {"service.url": "pulsar://h:6650", "topic": "t/n/orders", "deliveryGuarantee": "Exactly-Once"},
)


@pytest.mark.parametrize(("guarantee", "awaits_receipts"), [("at-least-once", True), ("none", False)])
def test_only_exactly_once_has_a_journal(guarantee: str, awaits_receipts: bool) -> None:
    options = replace(OPTIONS, delivery_guarantee=guarantee)
    without = WithoutTransactions(options, awaits_receipts)
    assert delivery_of_query(options, None) == delivery_of_job(options) == without
    # No broker receives a request, and no checkpoint is needed.
    without.prepare()
    without.commit(0, [None])
    without.abort(0, [None])


def test_an_exactly_once_job_is_a_separate_writer() -> None:
    delivery, other = delivery_of_job(OPTIONS), delivery_of_job(OPTIONS)
    assert isinstance(delivery, ExactlyOnce)
    assert isinstance(other, ExactlyOnce)
    assert delivery.journal == other.journal == journal_of_batch(OPTIONS)
    assert delivery.job is not None
    assert delivery.job.is_job
    assert delivery.job != other.job
    assert delivery.job.target == "persistent://t/n/orders"


def test_only_tasks_know_the_writer_of_an_exactly_once_query() -> None:
    assert delivery_of_query(OPTIONS, "/a/b") == ExactlyOnce(OPTIONS, journal_of_stream(OPTIONS, "/a/b"))


def test_the_default_is_at_least_once() -> None:
    options = parse_options(WriteOptions, {"service.url": "pulsar://h:6650", "topic": "t"})
    assert options.delivery_guarantee == "at-least-once"


def test_an_unknown_guarantee_is_refused() -> None:
    given = {"service.url": "pulsar://h:6650", "topic": "t", "deliveryGuarantee": "twice"}
    with pytest.raises(OptionError, match="at-least-once, exactly-once, none"):
        parse_options(WriteOptions, given)


def test_a_query_keeps_its_journal_when_its_checkpoint_moves() -> None:
    here, there = (journal_of_stream(OPTIONS, place) for place in ("/a/b", "s3a://c/d"))
    assert here.name_for("query") == there.name_for("query")
    assert here.name_for("query").startswith("persistent://t/n/__pyspark-pulsar-query-")
    assert here.name_for("query") != here.name_for("other")


def test_another_topic_has_another_journal() -> None:
    here = journal_of_stream(OPTIONS, "/a/b")
    there = journal_of_stream(replace(OPTIONS, topic="t/n/others"), "/a/b")
    assert here.name_for("query") != there.name_for("query")


def test_the_error_without_a_checkpoint_names_the_options() -> None:
    with pytest.raises(OptionError, match="checkpointLocation"):
        journal_of_stream(OPTIONS, None)


def test_an_option_names_the_journal() -> None:
    options = replace(OPTIONS, transaction_journal="t/n/mine")
    for name in (journal_of_stream(options, None), journal_of_batch(options)):
        assert name.name_for("query") == name.name_for("other") == "persistent://t/n/mine"
    with pytest.raises(OptionError, match="persistent"):
        journal_of_batch(replace(OPTIONS, transaction_journal="non-persistent://t/n/mine"))


def test_jobs_to_one_topic_share_a_journal() -> None:
    assert journal_of_batch(OPTIONS) == journal_of_batch(replace(OPTIONS, topic="persistent://t/n/orders"))
    assert journal_of_batch(OPTIONS) != journal_of_batch(replace(OPTIONS, topic="t/n/other"))


def test_rows_that_name_topics_require_a_named_journal() -> None:
    options = replace(OPTIONS, topic=None)
    for journal in (lambda: journal_of_stream(options, "/a/b"), lambda: journal_of_batch(options)):
        with pytest.raises(OptionError, match="transactionJournal, because column __topic names the topics"):
            journal()
    named = replace(options, transaction_journal="t/n/mine")
    assert (
        journal_of_stream(named, "/a/b")
        == journal_of_batch(named)
        == JournalName("__topic", "persistent://t/n/mine")
    )
