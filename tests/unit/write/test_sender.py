"""The producers of a sender, without a broker."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_pulsar.client.broker.producer import Producer
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write.sender import DeliveryTerms, TopicSender, close_senders, open_senders
from pyspark_pulsar.write.target import Target

SECONDS = 20.0
PARTITIONS = 8


def sender(first_producer_id: int) -> TopicSender:
    topic = TopicName.parse("public/default/t")
    schema: Any = SimpleNamespace(info=None)
    target = Target(topic, tuple(f"{topic}-partition-{number}" for number in range(PARTITIONS)), schema)
    client: Any = None
    options = parse_options(WriteOptions, {"service.url": "pulsar://localhost:1", "topic": "t"})
    return TopicSender(client, options, target, DeliveryTerms(), first_producer_id)


def test_producers_of_all_topics_are_opened_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    senders = [sender(1), sender(1 + PARTITIONS)]
    meeting = threading.Barrier(2 * PARTITIONS)
    met: list[tuple[str, int]] = []
    begun: list[TopicSender] = []

    def opened(producer: Producer) -> None:
        meeting.wait(SECONDS)
        met.append(("open", producer.producer_id))

    def closed(producer: Producer) -> None:
        meeting.wait(SECONDS)
        met.append(("close", producer.producer_id))

    def began(own: TopicSender) -> None:
        begun.append(own)

    monkeypatch.setattr(Producer, "open", opened)
    monkeypatch.setattr(Producer, "close", closed)
    monkeypatch.setattr(TopicSender, "begin", began)
    open_senders(senders)
    assert begun == senders
    close_senders(senders)
    ids = range(1, 2 * PARTITIONS + 1)
    assert sorted(met[: 2 * PARTITIONS]) == [("open", number) for number in ids]
    assert sorted(met[2 * PARTITIONS :]) == [("close", number) for number in ids]
