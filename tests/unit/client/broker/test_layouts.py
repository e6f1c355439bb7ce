"""Requests for the segments of scalable topics: the bytes that are sent, and the brokers that cannot answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import SCALABLE_TOPIC_CLOSE, id_field
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import OptionError, PermissionDenied
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions

ORDERS, OTHERS = (
    TopicName.parse(f"topic://public/default/{name}", scalable=True) for name in ("orders", "others")
)


class Broker:
    """A connection that answers immediately."""

    address = "h:1"

    def __init__(self, *errors: int | None, knows_scalable_topics: bool = True) -> None:
        self.knows_scalable_topics = knows_scalable_topics
        self.errors = errors
        self.requests: list[wire.BaseCommand] = []
        self.sent: list[wire.BaseCommand] = []

    def submit_all(self, requests: Sequence[tuple[wire.BaseCommand, str]]) -> list[Future[Any]]:
        answers = []
        for number, ((command, _), error) in enumerate(zip(requests, self.errors, strict=True)):
            self.requests.append(command)
            answer = wire.CommandScalableTopicUpdate(session_id=number + 40)
            if error is None:
                answer.dag.epoch = 3
                answer.dag.segments.add(segment_id=0, hash_start=0, hash_end=65535)
            else:
                answer.error = error
            future: Future[Any] = Future()
            future.set_result(answer)
            answers.append(future)
        return answers

    def send_bytes(self, data: bytes) -> None:
        self.sent.append(wire.BaseCommand.FromString(data[8:]))


def asking(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> BrokerClient:
    client = BrokerClient(ReadOptions(service_url="pulsar://h:1", topic="t"))
    monkeypatch.setattr(client, "service_connection", lambda: broker)
    return client


def test_a_layout_is_requested_once_and_the_request_creates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(None, 11)
    layouts = asking(broker, monkeypatch).layouts([ORDERS, OTHERS])
    found = layouts[ORDERS]
    assert found is not None
    assert [each.name for each in found.partitions] == ["segment://public/default/orders/0000-ffff-0"]
    assert layouts[OTHERS] is None
    assert [each.scalableTopicLookup.create_if_missing for each in broker.requests] == [False, False]
    # Otherwise, the broker would report each later change.
    assert [(each.type, each.scalableTopicClose.session_id) for each in broker.sent] == [
        (SCALABLE_TOPIC_CLOSE, 40),
        (SCALABLE_TOPIC_CLOSE, 41),
    ]


def test_a_broker_without_scalable_topics_gets_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(None, knows_scalable_topics=False)
    with pytest.raises(
        OptionError, match=r"topic://public/default/orders: expected a broker with scalable topics.*h:1"
    ):
        asking(broker, monkeypatch).layouts([ORDERS])
    assert not broker.requests


def test_a_refusal_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PermissionDenied):
        asking(Broker(4), monkeypatch).layouts([ORDERS])


def test_sessions_are_distinguished_by_their_own_field() -> None:
    assert {number: id_field(number) for number in (23, 24, 70, 71)} == {
        23: "request_id", 24: "request_id", 70: "session_id", 71: "session_id",
    }  # fmt: skip
