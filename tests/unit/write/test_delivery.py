"""What a guarantee needs, and the journal's name: the same after a restart, another one for another query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.delivery import journal_of_batch, journal_of_stream

OPTIONS = parse_options(
    WriteOptions,
    {"service.url": "pulsar://h:6650", "topic": "t/n/orders", "deliveryGuarantee": "Exactly-Once"},
)


def test_only_exactly_once_has_a_journal() -> None:
    for guarantee in ("at-least-once", "none"):
        options = replace(OPTIONS, delivery_guarantee=guarantee)
        assert journal_of_stream(options, None) is None
        assert journal_of_batch(options) is None


def test_the_default_is_at_least_once() -> None:
    options = parse_options(WriteOptions, {"service.url": "pulsar://h:6650", "topic": "t"})
    assert options.delivery_guarantee == "at-least-once"


def test_an_unknown_guarantee() -> None:
    given = {"service.url": "pulsar://h:6650", "topic": "t", "deliveryGuarantee": "twice"}
    with pytest.raises(OptionError, match="at-least-once, exactly-once, none"):
        parse_options(WriteOptions, given)


@pytest.mark.parametrize("place", ["/a/b", "/a/b/", "file:/a/b", "file:///a/b/", "/a/./b", "/a/c/../b"])
def test_a_checkpoint_has_one_journal_however_it_is_spelled(place: str) -> None:
    journal = journal_of_stream(OPTIONS, place)
    assert journal == journal_of_stream(OPTIONS, "/a/b")
    assert journal is not None
    assert journal.startswith("persistent://t/n/__pyspark-pulsar-")


def test_a_relative_checkpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert journal_of_stream(OPTIONS, "c") == journal_of_stream(OPTIONS, str(tmp_path / "c"))


def test_other_checkpoints_have_other_journals() -> None:
    places = ["/a/b", "/a/c", "s3a://a/b", "hdfs://h/a/b"]
    assert len({journal_of_stream(OPTIONS, place) for place in places}) == len(places)


def test_a_stream_without_a_checkpoint_is_told_what_to_give() -> None:
    with pytest.raises(OptionError, match="checkpointLocation"):
        journal_of_stream(OPTIONS, None)


def test_a_journal_of_the_users_own() -> None:
    options = replace(OPTIONS, transaction_journal="t/n/mine")
    assert journal_of_stream(options, None) == "persistent://t/n/mine"
    assert journal_of_batch(options) == "persistent://t/n/mine"
    with pytest.raises(OptionError, match="persistent"):
        journal_of_batch(replace(OPTIONS, transaction_journal="non-persistent://t/n/mine"))


def test_jobs_to_one_topic_share_a_journal() -> None:
    assert journal_of_batch(OPTIONS) == journal_of_batch(replace(OPTIONS, topic="persistent://t/n/orders"))
    assert journal_of_batch(OPTIONS) != journal_of_batch(replace(OPTIONS, topic="t/n/other"))


def test_rows_that_name_topics_need_a_journal_of_the_users_own() -> None:
    options = replace(OPTIONS, topic=None)
    for journal in (lambda: journal_of_stream(options, "/a/b"), lambda: journal_of_batch(options)):
        with pytest.raises(OptionError, match="transactionJournal where column __topic names the topics"):
            journal()
    named = replace(options, transaction_journal="t/n/mine")
    assert journal_of_stream(named, "/a/b") == journal_of_batch(named) == "persistent://t/n/mine"
