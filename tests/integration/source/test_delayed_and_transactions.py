"""Delayed messages, messages of transactions, and the markers between them, against the official Java Reader."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import SPECIAL_MESSAGES, Admin, JavaClient, as_base64

from pyspark_pulsar.client.broker.consumer import EntryConsumer, LogEnd
from pyspark_pulsar.errors import MessagesHidden
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.tools.standalone import LocalPulsar


@pytest.fixture(scope="module")
def special(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar, SPECIAL_MESSAGES)


def messages(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"value": as_base64(text.encode()), **more} for text in texts]


def places(rows: list[dict[str, Any]]) -> list[tuple[tuple[int, int, int], bytes]]:
    return [
        ((row["ledger"], row["entry"], row["batchIndex"]), base64.b64decode(row["value"])) for row in rows
    ]


def ours(read_topic: ReadTopic, topic: str) -> list[tuple[tuple[int, int, int], bytes]]:
    return [(tuple(row["__messageId"])[:3], bytes(row.value)) for row in read_topic(topic).collect()]


@pytest.mark.parametrize("batching", [False, True], ids=["unbatched", "batched"])
def test_delayed_messages_are_read_immediately(
    batching: bool, topic: str, special: JavaClient, read_topic: ReadTopic
) -> None:
    steps = [
        {"messages": [*messages("now"), *messages("in an hour", afterSeconds=3600), *messages("now again")]}
    ]
    special.run({"do": "produce", "topic": topic, "steps": steps, "batching": batching})
    theirs = places(special.run({"do": "read", "topic": topic})[0])
    assert ours(read_topic, topic) == theirs
    assert {value for _, value in theirs} == {b"now", b"in an hour", b"now again"}


@pytest.mark.parametrize("batching", [False, True], ids=["unbatched", "batched"])
@pytest.mark.parametrize("last", ["commit", "abort", None])
def test_only_committed_messages_are_read(
    batching: bool, last: str | None, topic: str, special: JavaClient, admin: Admin, read_topic: ReadTopic
) -> None:
    steps: list[dict[str, Any]] = [
        {"messages": messages("plain 1")},
        {"messages": messages("committed 1", "committed 2"), "end": "commit"},
        {"messages": messages("aborted 1", "aborted 2", "aborted 3"), "end": "abort"},
        {"messages": messages("plain 2")},
        {"messages": messages("the last"), **({} if last is None else {"end": last})},
    ]
    special.run({"do": "produce", "topic": topic, "steps": steps, "batching": batching})
    found = ours(read_topic, topic)
    expected = [b"plain 1", b"committed 1", b"committed 2", b"plain 2"]
    assert [value for _, value in found] == expected + ([] if last == "abort" else [b"the last"])
    if last != "abort":  # The Java Reader may wait for a last message that was aborted.
        assert found == places(special.run({"do": "read", "topic": topic})[0])
    # Markers and aborted messages are entries without rows.
    markers = 2 + (last is not None)
    assert admin.entries(topic) >= len(found) * (not batching) + markers


@pytest.fixture
def answers_without_messages(monkeypatch: pytest.MonkeyPatch) -> list[LogEnd]:
    """Return a list of answers that show no message, as from a broker during a topic's first transaction
    snapshot.

    The next reads get one of the answers each, until the list is empty.
    """
    told: list[LogEnd] = []
    plain = EntryConsumer.await_log_end

    def await_log_end(self: EntryConsumer, *arguments: Any) -> LogEnd:
        log_end = plain(self, *arguments)
        return replace(log_end, end=EARLIEST) if told and told.pop() else log_end

    monkeypatch.setattr(EntryConsumer, "await_log_end", await_log_end)
    return told


def test_a_topic_that_hides_its_messages_briefly_is_not_empty(
    filled: str, pulsar: LocalPulsar, admin: Admin, answers_without_messages: list[LogEnd]
) -> None:
    options = ReadOptions(service_url=pulsar.service_url, topic=filled)
    (split,) = plan_batch(options).splits
    admin.unload(filled)
    log_end = LogEnd(EARLIEST, EARLIEST)
    for count in (1, 3):
        answers_without_messages[:] = [log_end] * count
        assert plan_batch(options).splits == [split]
        # The stream starts at the end.
        answers_without_messages[:] = [log_end] * count
        reader = PulsarStreamReader(options, resolve_source_schema(options))
        assert reader.latestOffset(reader.initialOffset(), None)["positions"] == {filled: str(split.end)}
        reader.stop()
    assert answers_without_messages == []


def never_shown(pulsar: LocalPulsar, topic: str, **more: Any) -> ReadOptions:
    return ReadOptions(service_url=pulsar.service_url, topic=topic, operation_timeout_ms=4_000, **more)


def rows_now(options: ReadOptions) -> int:
    """Count the messages in the plan of `Trigger.AvailableNow`, by the entries of its splits."""
    reader = PulsarStreamReader(options, resolve_source_schema(options))
    try:
        start = reader.initialOffset()
        reader.prepareForTriggerAvailableNow()
        end = reader.latestOffset(start, ReadAllAvailable())
        return len(reader.partitions(start, end))
    finally:
        reader.stop()


def test_a_topic_that_never_shows_its_messages_is_an_error(
    filled: str, pulsar: LocalPulsar, admin: Admin, answers_without_messages: list[LogEnd]
) -> None:
    answers_without_messages[:] = [LogEnd(EARLIEST, EARLIEST)] * 10_000
    for options in (
        never_shown(pulsar, filled, admin_url=pulsar.admin_url),
        never_shown(pulsar, filled, starting_offsets=FROM_EARLIEST),
    ):
        with pytest.raises(MessagesHidden, match=rf"{filled}: expected the broker to show messages"):
            plan_batch(options)
        with pytest.raises(MessagesHidden):
            rows_now(options)


@pytest.mark.parametrize("end", ["abort", "open"])
def test_entries_hidden_from_consumers_are_no_messages(
    end: str, topic: str, special: JavaClient, pulsar: LocalPulsar
) -> None:
    """Aborted messages and markers are skipped immediately. Only the admin REST API shows an open
    transaction.
    """
    steps = [
        {"messages": messages("aborted"), "end": "abort"},
        {"messages": messages("the last", "behind it"), "end": end},
    ]
    special.run({"do": "produce", "topic": topic, "steps": steps, "batching": False})
    told = never_shown(pulsar, topic, admin_url=pulsar.admin_url, starting_offsets=FROM_EARLIEST)
    without_admin = never_shown(pulsar, topic, starting_offsets=FROM_EARLIEST)
    assert plan_batch(told).splits == []
    assert rows_now(told) == 0
    if end == "abort":
        assert plan_batch(without_admin).splits == []
        assert rows_now(without_admin) == 0
        return
    with pytest.raises(MessagesHidden, match=r"a transaction is open since the first message.*admin\.url"):
        plan_batch(without_admin)
    with pytest.raises(MessagesHidden):
        rows_now(without_admin)
    # A stream that keeps running reads the messages when the broker shows them.
    reader = PulsarStreamReader(without_admin, resolve_source_schema(without_admin))
    offset = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert offset["positions"] == {topic: "earliest"}
    reader.stop()
