"""Prepared consumers of a task's next splits: the requests that are sent early, and the requests that are never
sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from pyspark_pulsar.client.broker.connection.commands import CLOSE_CONSUMER, FLOW, SUBSCRIBE
from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, PermissionDenied, PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import Location
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.consumers_ahead import (
    AT_ONCE,
    FOR_LIMIT,
    LOOKUPS,
    MOST_BYTES,
    ConsumersAhead,
)
from pyspark_pulsar.read.split import Split, SplitRange

OPTIONS = ReadOptions(service_url="pulsar://x:1", topic="t")
START, END = Position(7, 0), Position(7, 3)
CLOSED = FromBookies(Ledger(7, 3, 300, opened_ms=1, closed_ms=2), ())


class Broker:
    """A connection that answers when the test requests it, and records what was sent."""

    is_open = True

    def __init__(self) -> None:
        self.sent: list[tuple[int, int]] = []
        """Type and consumer."""
        self.topics: dict[int, str] = {}
        self.answers: dict[str, Future[Any]] = {}
        self.permits: dict[str, int] = {}
        self.consumers: set[int] = set()
        self._ids = 0

    def new_id(self) -> int:
        self._ids += 1
        return self._ids

    def add_consumer(self, consumer_id: int, _: Any) -> None:
        self.consumers.add(consumer_id)

    def remove_consumer(self, consumer_id: int) -> None:
        self.consumers.discard(consumer_id)

    def submit(self, command: wire.BaseCommand, _: str) -> Future[Any]:
        answer: Future[Any] = Future()
        if command.type == SUBSCRIBE:
            number, topic = command.subscribe.consumer_id, command.subscribe.topic
            self.topics[number], self.answers[topic] = topic, answer
        else:
            number = command.close_consumer.consumer_id
        self.sent.append((command.type, number))
        return answer

    def send_bytes(self, data: bytes) -> None:
        flow = wire.BaseCommand.FromString(data[8:]).flow
        self.sent.append((FLOW, flow.consumer_id))
        self.permits[self.topics[flow.consumer_id]] = flow.messagePermits

    def answer(self, *topics: str) -> None:
        for topic in topics:
            self.answers[topic].set_result(wire.CommandSuccess(request_id=0))

    def of_type(self, kind: int) -> list[str]:
        return [self.topics[number] for sent, number in self.sent if sent == kind]


class Client:
    """The used part of `BrokerClient`. Topics named "lost" have no owner."""

    request_seconds = 0.2

    def __init__(self) -> None:
        self.broker = Broker()
        self.lookups: list[int] = []
        self.fault: PulsarError | None = None

    @contextmanager
    def until(self, _: float) -> Iterator[None]:
        yield

    def owner_connections(self, topics: Iterable[str]) -> dict[str, Broker | PulsarError]:
        names = list(topics)
        self.lookups.append(len(names))
        if self.fault is not None:
            raise self.fault
        return {name: ConnectionFailed("no") if "lost" in name else self.broker for name in names}

    def forget_owner(self, topic: str) -> None: ...

    def seconds_left(self, seconds: float) -> float:
        return seconds


@pytest.fixture
def client() -> Client:
    return Client()


def split(
    name: str,
    start: Position = START,
    end: Position = END,
    *,
    location: Location | None = None,
    size: int | None = 300,
) -> Split:
    ranges = (SplitRange(start, end, location or FromBroker()),)
    return Split(TopicPartition.parse(name), start, end, ranges, size=size)


def named(number: int) -> str:
    return f"persistent://public/default/t{number}"


def ahead_of(client: Client, splits: list[Split], **options: Any) -> ConsumersAhead:
    chosen = ReadOptions(service_url="pulsar://x:1", topic="t", **options)
    return ConsumersAhead(client, chosen, splits)  # type: ignore[arg-type]


def test_a_task_prepares_many_splits_at_the_same_time(client: Client) -> None:
    splits = [split(f"t{number}") for number in range(30)]
    ahead = ahead_of(client, splits)
    ahead.advance(0)
    assert client.lookups == [30], "all owners in one piece"
    first = [named(number) for number in range(1 + AT_ONCE)]
    assert client.broker.of_type(SUBSCRIBE) == first
    assert not client.broker.permits, "a broker drops permits of a consumer that is not there yet"
    client.broker.answer(*first)
    taken = ahead.take(splits[0].partition, START)
    assert taken is not None
    assert taken[0].consumer_id == 1
    assert set(client.broker.permits) == set(first[1:]), "while the first one is read"
    ahead.advance(1)
    assert client.broker.of_type(SUBSCRIBE)[len(first) :] == [named(1 + AT_ONCE)]
    following = ahead.take(splits[1].partition, START)
    assert following is not None
    assert following[1] == client.broker.permits[named(1)] == 4
    assert client.lookups == [30]


def test_owners_are_looked_up_in_groups(client: Client) -> None:
    ahead = ahead_of(client, [split(f"t{number}") for number in range(2 * LOOKUPS)])
    for number in range(2 * LOOKUPS):
        ahead.advance(number)
    assert client.lookups == [LOOKUPS, LOOKUPS]
    ahead.close()
    assert not client.broker.consumers


def test_a_single_split_has_no_prepared_consumer(client: Client) -> None:
    ahead = ahead_of(client, [split("t0")])
    ahead.advance(0)
    assert not client.lookups
    assert ahead.take(TopicPartition.parse("t0"), START) is None


def test_a_query_with_a_limit_prepares_few_consumers(client: Client) -> None:
    ahead_of(client, [split(f"t{number}") for number in range(30)], limit=5).advance(0)
    assert len(client.broker.of_type(SUBSCRIBE)) == 1 + FOR_LIMIT


def test_consumers_of_skipped_splits_are_closed(client: Client) -> None:
    ahead = ahead_of(client, [split(f"t{number}") for number in range(4)])
    ahead.advance(0)
    client.broker.answer(named(0), named(1))
    ahead.advance(2)
    assert client.broker.of_type(CLOSE_CONSUMER) == [named(0), named(1)]
    assert ahead.take(TopicPartition.parse("t0"), START) is None
    assert ahead.take(TopicPartition.parse("t2"), Position(7, 1)) is None, "another start"
    ahead.close()
    assert not client.broker.consumers


def test_prepared_consumers_receive_no_more_than_there_is_room_for(client: Client) -> None:
    large = MOST_BYTES // 2 - 1
    ahead = ahead_of(client, [split(f"t{number}", size=large) for number in range(6)])
    ahead.advance(0)
    client.broker.answer(*(named(number) for number in range(6)))
    ahead.advance(0)
    assert list(client.broker.permits) == [named(0), named(1)]
    assert ahead.take(TopicPartition.parse("t0"), START) is not None
    assert list(client.broker.permits) == [named(0), named(1), named(2)]


@pytest.mark.parametrize(("start", "end"), [(EARLIEST, END), (Position(6, 0), END)])
def test_a_range_over_several_ledgers_gets_no_permits_in_advance(
    client: Client, start: Position, end: Position
) -> None:
    ahead = ahead_of(client, [split("t0"), split("t1", start, end)])
    ahead.advance(0)
    client.broker.answer(named(0), named(1))
    ahead.advance(1)
    assert client.broker.of_type(FLOW) == []
    taken = ahead.take(TopicPartition.parse("t1"), start)
    assert taken is not None
    assert taken[1] == 0


def test_a_full_connection_drops_all_prepared_consumers(client: Client) -> None:
    ahead = ahead_of(client, [split(f"t{number}") for number in range(4)])
    ahead.advance(0)
    client.broker.answer(*(named(number) for number in range(4)))
    assert ahead.take(TopicPartition.parse("t0"), START) is not None
    assert client.broker.permits
    ahead.make_room()
    assert len(client.broker.consumers) == 1, "the one that is read"
    client.broker.permits.clear()
    ahead.advance(1)
    ahead.take(TopicPartition.parse("t1"), START)
    assert not client.broker.permits, "and none sends ahead any more"


def test_the_reader_repeats_what_failed_in_advance(client: Client) -> None:
    ahead = ahead_of(client, [split("t0"), split("lost"), split("t2"), split("t3")])
    ahead.advance(0)
    assert client.broker.of_type(SUBSCRIBE) == [named(0), named(2), named(3)]
    client.broker.answers[named(2)].set_exception(PermissionDenied("no"))
    client.broker.answer(named(0), named(3))
    for number, name in enumerate(("t0", "lost", "t2", "t3")):
        ahead.advance(number)
        assert (ahead.take(TopicPartition.parse(name), START) is not None) == (name in ("t0", "t3"))


def test_a_silent_cluster_receives_one_lookup_per_group(client: Client) -> None:
    client.fault = ConnectionFailed("no")
    splits = [split(f"t{number}") for number in range(LOOKUPS)]
    ahead = ahead_of(client, splits)
    for number, of_task in enumerate(splits):
        ahead.advance(number)
        assert ahead.take(of_task.partition, START) is None
    assert client.lookups == [LOOKUPS]


def test_a_consumer_that_the_broker_closed_is_not_used(client: Client) -> None:
    ahead = ahead_of(client, [split("t0"), split("t1")])
    ahead.advance(0)
    client.broker.answer(named(0), named(1))
    ahead.advance(0)
    for one in ahead._ahead.values():
        assert one.consumer is not None
        one.consumer.on_closed(ConnectionFailed("moved"))
    assert ahead.take(TopicPartition.parse("t0"), START) is None


def test_splits_of_one_topic_hold_one_subscription(client: Client) -> None:
    """Brokers may limit the subscriptions of a topic."""
    ahead = ahead_of(client, [split("t0"), split("t0", END, Position(7, 9)), split("t1", location=CLOSED)])
    ahead.advance(0)
    assert client.broker.of_type(SUBSCRIBE) == [named(0)]
