"""An error between leaves no subscription behind that was begun: a retry would meet its own exclusive consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, cast

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import CLOSE_CONSUMER, GET_LAST_MESSAGE_ID, SUBSCRIBE
from pyspark_pulsar.client.broker.connection.connection import Listener
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, OptionError, PermissionDenied, PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.subscription import subscription_positions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.peek import first_entries_once
from pyspark_pulsar.read.unseen_entries import pass_unseen

A, B, C = (TopicPartition.parse(name) for name in "abc")
FIRST = Position(1, 0)


class Broker:
    """A connection, on which something fails for topic b: the sending of a request, or its answer."""

    is_open = True
    is_full = False

    def __init__(self, fails: str, fault: PulsarError) -> None:
        self._fails = fails
        self._fault = fault
        self._ids = 0
        self._topics: dict[int, str] = {}
        self.open: set[int] = set()
        """Consumers that the broker has made, or is about to make, and that were not closed."""

    def new_id(self) -> int:
        self._ids += 1
        return self._ids

    def add_consumer(self, consumer_id: int, listener: Listener) -> None: ...

    def remove_consumer(self, consumer_id: int) -> None: ...

    def first_entry(self, consumer_id: int) -> None: ...

    def take_entries(self, consumer_id: int) -> None: ...

    def send_bytes(self, data: bytes) -> None: ...

    def submit(self, command: wire.BaseCommand, where: str) -> Future[Any]:
        return self.submit_all([(command, where)])[0]

    def submit_all(self, requests: Sequence[tuple[wire.BaseCommand, str]]) -> list[Future[Any]]:
        return [self._answer(command) for command, _ in requests]

    def _answer(self, command: wire.BaseCommand) -> Future[Any]:
        answer: Future[Any] = Future()
        if command.type == SUBSCRIBE:
            subscribe = command.subscribe
            self._topics[subscribe.consumer_id] = subscribe.topic
            is_b = subscribe.topic == B.name
            if is_b and self._fails == "sending":
                raise self._fault
            if is_b and self._fails == "subscribing":
                answer.set_exception(self._fault)
            elif subscribe.subscription == "durable" and not subscribe.durable:
                answer.set_exception(OptionError("there is a durable one"))
            else:
                self.open.add(subscribe.consumer_id)
                answer.set_result(wire.CommandSuccess(request_id=0))
        elif command.type == GET_LAST_MESSAGE_ID:
            if self._topics[command.getLastMessageId.consumer_id] == B.name and self._fails == "asking":
                answer.set_exception(self._fault)
            else:
                end = wire.MessageIdData(ledgerId=1, entryId=4)
                answer.set_result(
                    wire.CommandGetLastMessageIdResponse(
                        request_id=0, last_message_id=end, consumer_mark_delete_position=end
                    )
                )
        elif command.type == CLOSE_CONSUMER:
            self.open.discard(command.close_consumer.consumer_id)
            answer.set_result(wire.CommandSuccess(request_id=0))
        return answer


class Client:
    request_seconds = patience_seconds = 1.0

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def owner_connections(self, topics: Iterable[str]) -> dict[str, Broker]:
        return dict.fromkeys(topics, self._broker)

    def forget_owner(self, topic: str) -> None: ...

    def left(self, seconds: float) -> float:
        return seconds

    def retrying(self, attempt: Callable[[], Any], patience_seconds: float | None = None) -> Any:
        return attempt()


def ask_log_ends(client: BrokerClient) -> None:
    log_ends = LogEnds(client)
    try:
        log_ends.ends([A, B, C])
    finally:
        log_ends.close()


ASKING: dict[str, Callable[[BrokerClient], object]] = {
    "log ends": ask_log_ends,
    "first entries": lambda client: first_entries_once(client, [(each, FIRST) for each in (A, B, C)]),
    "unseen entries": lambda client: pass_unseen(
        client, {each: (FIRST, Position(1, 5)) for each in (A, B, C)}, 0.0
    ),
    "a durable subscription": lambda client: subscription_positions(
        client, None, "durable", [A, B, C], dict.fromkeys((A, B, C), EARLIEST)
    ),
    "a subscription that is not durable": lambda client: subscription_positions(
        client, None, "mine", [A, B, C], dict.fromkeys((A, B, C), EARLIEST)
    ),
}


@pytest.mark.parametrize(
    "fault", [ConnectionFailed("it moves"), PermissionDenied("no")], ids=["passing", "refused"]
)
@pytest.mark.parametrize(
    ("asking", "fails"),
    [
        *((asking, fails) for asking in ASKING for fails in ("sending", "subscribing")),
        *((asking, "asking") for asking in ("log ends", "unseen entries", "a durable subscription")),
    ],
)
def test_nothing_is_left_behind(asking: str, fails: str, fault: PulsarError) -> None:
    broker = Broker(fails, fault)
    with pytest.raises(type(fault)):
        ASKING[asking](cast(BrokerClient, Client(broker)))
    assert broker.open == set()
