"""The output of `pyspark-pulsar tier run` about a topic."""

from __future__ import annotations

import json

import pytest

from pyspark_pulsar.errors import TierMismatch
from pyspark_pulsar.history.tiering.commit import RoundResult
from pyspark_pulsar.history.tiering.topic_rounds import TopicOutcome
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.tools.cli.output.tier_tables import print_outcome

TOPIC = TopicName.parse("orders")


def test_rows_nothing_and_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(
        TopicOutcome(TOPIC, (RoundResult(TOPIC, "t", rows=1000, files=1, size=2048),)), as_json=False
    )
    print_outcome(TopicOutcome(TOPIC, (RoundResult(TOPIC, "t"),)), as_json=False)
    print_outcome(TopicOutcome(TOPIC, (), TierMismatch("of another topic")), as_json=False)
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "persistent://public/default/orders: 1,000 rows in 1 file, 2.0 KiB",
        "persistent://public/default/orders: nothing to do; the open ledger is tiered after it closes",
    ]
    assert told.err == "persistent://public/default/orders: TierMismatch: of another topic\n"
    print_outcome(TopicOutcome(TOPIC), as_json=True)
    assert json.loads(capsys.readouterr().out)["rows"] == 0
