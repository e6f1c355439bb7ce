"""Options of tiering: options that would leave messages out are errors."""

from __future__ import annotations

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.history.tiering.definition import tiering_options
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions, parse_options

TOPIC = TopicName.parse("persistent://public/default/t")
GIVEN = {"service.url": "pulsar://h:1", "topic": str(TOPIC), "tierCatalog": '{"type": "in-memory"}'}


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ({"mode": "DROPMALFORMED"}, "the table keeps the payloads of messages that do not decode"),
        ({"pulsar.consumer.cryptoFailureAction": "CONSUME"}, "expected FAIL, got CONSUME"),
        ({"pulsar.reader.cryptoFailureAction": "DISCARD"}, "expected FAIL, got DISCARD"),
        ({"startingOffsets": "earliest"}, "'startingOffsets': expected no value"),
        ({"startingTimestamp": "2026-11-20T00:00:00Z"}, "'startingTimestamp': expected no value"),
        ({"endingOffsets": "latest"}, "'endingOffsets'"),
        ({"endingTimestamp": "2026-11-20T00:00:00Z"}, "'endingTimestamp'"),
        ({"endingEventTime": "2026-11-20T00:00:00Z"}, "'endingEventTime'"),
        ({"readCompacted": "true"}, "'readCompacted'"),
        ({"tierCatalog": "{}"}, "'tierCatalog' is missing"),
    ],
)
def test_options_that_would_leave_messages_out(further: dict[str, str], words: str) -> None:
    options = parse_options(ReadOptions, {**GIVEN, **further})
    with pytest.raises(OptionError) as told:
        tiering_options(options, TOPIC)
    assert words in str(told.value)


def test_all_of_a_topic_is_read_from_its_ledgers() -> None:
    options = tiering_options(parse_options(ReadOptions, {**GIVEN, "splitBy": "key"}), TOPIC)
    assert not options.names_tables
    assert (options.read_from, options.split_by, options.topic) == ("auto", "position", str(TOPIC))
