"""The number of a stream's requests at each trigger, and its conclusions from the positions of its cursors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from pyspark_pulsar.client.broker.connection.commands import CLOSE_CONSUMER, GET_LAST_MESSAGE_ID, SUBSCRIBE
from pyspark_pulsar.client.broker.connection.connection import Listener
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed, TopicNotFoundError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.log_end import LogEnds, RemovedEntries

A = TopicPartition.parse("a")


class Broker:
    """A connection that answers immediately, and counts requests."""

    is_open = True

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.ranges = 0
        self.end = Position(5, 10)
        self.tells: Position | None = None
        """The end that the broker reports; None if the broker reports the actual end."""
        self.fresh: Position | None = None
        """The position to which the broker moves a new cursor; None if the cursor keeps the requested position."""
        self.cursors: dict[int, Position] = {}
        self.consumers: dict[int, Listener] = {}
        self.refuses: Exception | None = None
        self._ids = 0

    def new_id(self) -> int:
        self._ids += 1
        return self._ids

    def add_consumer(self, consumer_id: int, listener: Listener) -> None:
        self.consumers[consumer_id] = listener

    def remove_consumer(self, consumer_id: int) -> None:
        self.consumers.pop(consumer_id, None)

    def submit(self, command: wire.BaseCommand, where: str) -> Future[Any]:
        return self.submit_all([(command, where)])[0]

    def submit_all(self, requests: Sequence[tuple[wire.BaseCommand, str]]) -> list[Future[Any]]:
        self.ranges += 1
        return [self._answer(command) for command, _ in requests]

    def send_bytes(self, data: bytes) -> None:
        command = wire.BaseCommand.FromString(data[8:])
        passed = command.ack.message_id[0]
        self.cursors[command.ack.consumer_id] = Position(passed.ledgerId, passed.entryId + 1)

    def _answer(self, command: wire.BaseCommand) -> Future[Any]:
        self.asked[command.type] += 1
        answer: Future[Any] = Future()
        if command.type == SUBSCRIBE and self.refuses is not None:
            answer.set_exception(self.refuses)
        elif command.type == SUBSCRIBE:
            start = command.subscribe.start_message_id
            is_latest = start.ledgerId == 2**63 - 1
            put = self.end if is_latest else Position(start.ledgerId, start.entryId)
            self.cursors[command.subscribe.consumer_id] = self.fresh or put
            answer.set_result(wire.CommandSuccess(request_id=0))
        elif command.type == GET_LAST_MESSAGE_ID:
            cursor = self.cursors[command.getLastMessageId.consumer_id]
            answer.set_result(
                wire.CommandGetLastMessageIdResponse(
                    request_id=0,
                    last_message_id=_id(self.tells or self.end),
                    consumer_mark_delete_position=_id(cursor),
                )
            )
        else:
            answer.set_result(wire.CommandSuccess(request_id=0))
        return answer


def _id(behind: Position) -> wire.MessageIdData:
    return wire.MessageIdData(ledgerId=behind.ledger % 2**64, entryId=(behind.entry - 1) % 2**64)


class Client:
    """The part of `BrokerClient` that `LogEnds` uses. The second broker owns topics that end in an even number."""

    request_seconds = 1.0
    patience_seconds = 1.0

    def __init__(self) -> None:
        self.brokers = (Broker(), Broker())

    def owner_connections(self, topics: Iterable[str]) -> dict[str, Broker]:
        return {topic: self.brokers[topic[-1] in "02468"] for topic in topics}

    def forget_owner(self, topic: str) -> None: ...

    def seconds_left(self, seconds: float) -> float:
        return seconds

    def retrying(self, attempt: Callable[[], Any], patience_seconds: float) -> Any:
        for _ in range(3):
            try:
                return attempt()
            except ConnectionFailed as fault:
                failure = fault
        raise failure


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def broker(client: Client) -> Broker:
    return client.brokers[0]


@pytest.fixture
def log_ends(client: Client) -> LogEnds:
    return LogEnds(client)  # type: ignore[arg-type]


def test_a_trigger_requests_each_end_once_and_together_per_broker(client: Client, log_ends: LogEnds) -> None:
    partitions = [TopicPartition.parse(f"t{index}") for index in range(300)]
    ends = log_ends.ends(partitions)
    assert set(ends) == set(partitions)
    for _ in range(3):
        for broker in client.brokers:
            broker.asked.clear()
            broker.ranges = 0
        assert log_ends.present_ends(partitions, ends) == ends
        assert log_ends.removed({}) == {}
        for broker in client.brokers:
            assert broker.asked == {GET_LAST_MESSAGE_ID: 150}
            assert broker.ranges == 1


def test_a_consumer_that_the_broker_closed_is_replaced(broker: Broker, log_ends: LogEnds) -> None:
    log_ends.ends([A])
    closed = wire.CommandCloseConsumer(consumer_id=next(iter(broker.consumers)), request_id=0)
    next(iter(broker.consumers.values())).on_command(
        wire.BaseCommand(type=CLOSE_CONSUMER, close_consumer=closed)
    )
    assert log_ends.ends([A]) == {A: Position(5, 10)}
    assert broker.asked[SUBSCRIBE] == 2
    assert len(broker.consumers) == 1


def test_consumers_of_dropped_partitions_are_closed(client: Client, log_ends: LogEnds) -> None:
    b = TopicPartition.parse("b0")
    log_ends.ends([A, b])
    log_ends.ends([A])
    assert client.brokers[1].asked[CLOSE_CONSUMER] == 1
    assert not client.brokers[1].consumers


def test_a_deleted_topic_is_reported(broker: Broker, log_ends: LogEnds) -> None:
    broker.refuses = TopicNotFoundError("no such topic")
    assert log_ends.present_ends([A], {A: Position(5, 3)}) == {}
    assert log_ends.removed({A: Position(5, 3)}) == {A: RemovedEntries(None, None)}
    with pytest.raises(TopicNotFoundError):
        log_ends.ends([A])


def test_a_topic_that_is_deleted_after_the_lookup_is_reported(broker: Broker, log_ends: LogEnds) -> None:
    log_ends.present_ends([A], {A: Position(5, 3)})
    broker.refuses = TopicNotFoundError("no such topic")
    for listener in list(broker.consumers.values()):
        listener.on_closed(ConnectionFailed("the broker closed the consumer"))
    assert log_ends.removed({A: Position(5, 3)}) == {A: RemovedEntries(None, None)}


def test_only_failed_requests_are_retried(client: Client, log_ends: LogEnds) -> None:
    b = TopicPartition.parse("b0")
    client.brokers[1].refuses = ConnectionFailed("moves")
    with pytest.raises(ConnectionFailed, match="moves"):
        log_ends.ends([A, b])
    assert client.brokers[0].asked == {SUBSCRIBE: 1, GET_LAST_MESSAGE_ID: 1}
    assert client.brokers[1].asked == {SUBSCRIBE: 3}


def moved(broker: Broker, mark_delete: Position) -> None:
    """The broker moves the cursor."""
    (consumer,) = broker.consumers
    broker.cursors[consumer] = mark_delete


def test_the_cursor_follows_the_query(broker: Broker, log_ends: LogEnds) -> None:
    log_ends.present_ends([A], {A: Position(5, 3)})
    assert list(broker.cursors.values()) == [Position(5, 3)]
    log_ends.present_ends([A], {A: Position(5, 8, 2)})
    assert list(broker.cursors.values()) == [Position(5, 8)]
    assert log_ends.removed({A: Position(5, 8, 2)}) == {}
    assert broker.asked[SUBSCRIBE] == 1


def test_entries_removed_unread_are_counted(broker: Broker, log_ends: LogEnds) -> None:
    start = Position(5, 3)
    log_ends.present_ends([A], {A: start})
    moved(broker, Position(5, 7))
    broker.fresh = Position(9, 0)
    log_ends.present_ends([A], {A: start})
    assert log_ends.removed({A: start}) == {A: RemovedEntries(Position(9, 0), 4)}


def test_a_cursor_that_was_skipped_on_request_is_no_loss(broker: Broker, log_ends: LogEnds) -> None:
    start = Position(5, 3)
    log_ends.present_ends([A], {A: start})
    moved(broker, Position(7, 2))
    log_ends.present_ends([A], {A: start})
    assert log_ends.removed({A: start}) == {}
    assert broker.asked[SUBSCRIBE] == 2


def test_a_move_to_the_next_ledger_is_no_loss_for_a_cursor_at_the_end(
    broker: Broker, log_ends: LogEnds
) -> None:
    start = Position(5, 3)
    log_ends.present_ends([A], {A: start})
    moved(broker, Position(9, 0))
    broker.fresh = Position(9, 0)
    log_ends.present_ends([A], {A: start})
    assert log_ends.removed({A: start}) == {}
    # A new consumer is put there, and the proof of the earlier one still holds. Later it does not.
    for listener in list(broker.consumers.values()):
        listener.on_closed(ConnectionFailed("moves"))
    log_ends.present_ends([A], {A: start})
    assert log_ends.removed({A: start}) == {}
    broker.fresh = Position(12, 0)
    for listener in list(broker.consumers.values()):
        listener.on_closed(ConnectionFailed("moves"))
    log_ends.present_ends([A], {A: start})
    assert log_ends.removed({A: start}) == {A: RemovedEntries(Position(12, 0), None)}


def test_a_new_cursor_cannot_know_the_content_of_a_removed_ledger(broker: Broker, log_ends: LogEnds) -> None:
    start = Position(5, 3)
    broker.fresh = Position(9, 0)
    assert log_ends.removed({A: start}) == {A: RemovedEntries(Position(9, 0), None)}
    assert log_ends.removed({A: EARLIEST}) == {}


def test_entries_that_compaction_removed_are_no_loss(client: Client, broker: Broker) -> None:
    log_ends = LogEnds(client, read_compacted=True)  # type: ignore[arg-type]
    broker.fresh = Position(9, 0)
    assert log_ends.removed({A: Position(5, 3)}) == {}


@pytest.fixture
def with_firsts(client: Client) -> LogEnds:
    return LogEnds(client, starts_at_first=True)  # type: ignore[arg-type]


def test_the_answer_with_the_end_shows_the_start_of_the_first_ledger(
    broker: Broker, with_firsts: LogEnds
) -> None:
    broker.fresh = Position(3, 0)
    assert with_firsts.ends([A]) == {A: Position(5, 10)}
    assert with_firsts.firsts() == {A: Position(3, 0)}
    assert broker.asked == {SUBSCRIBE: 1, GET_LAST_MESSAGE_ID: 1}


def test_without_a_cursor_position_the_first_ledger_is_unknown(broker: Broker, with_firsts: LogEnds) -> None:
    broker.fresh = EARLIEST
    with_firsts.ends([A])
    assert with_firsts.firsts() == {}


def test_ends_without_the_setting_show_no_first_ledger(
    client: Client, broker: Broker, log_ends: LogEnds
) -> None:
    log_ends.ends([A])
    assert log_ends.firsts() == {}
    compacted = LogEnds(client, read_compacted=True, starts_at_first=True)  # type: ignore[arg-type]
    compacted.ends([A])
    assert compacted.firsts() == {}
    assert set(broker.cursors.values()) == {broker.end}, "the end of a view, and not its first entry"


@pytest.mark.parametrize("first", [Position(3, 0), Position(5, 0), Position(9, 0)])
def test_a_cursor_at_the_first_entry_does_not_prove_that_a_later_start_exists(
    broker: Broker, with_firsts: LogEnds, first: Position
) -> None:
    """The ledger of the start may be of another topic."""
    start = Position(5, 3)
    broker.fresh = first
    with_firsts.ends([A])
    broker.fresh = Position(9, 0)
    assert with_firsts.removed({A: start}) == {A: RemovedEntries(Position(9, 0), None)}
    assert broker.asked[SUBSCRIBE] == 2


SEGMENT = TopicPartition.parse("segment://public/default/orders/0000-ffff-1")


def test_a_new_cursor_shows_the_end_of_a_segment(broker: Broker, log_ends: LogEnds) -> None:
    assert log_ends.ends([SEGMENT]) == {SEGMENT: Position(5, 10)}
    broker.tells = EARLIEST
    broker.end = Position(5, 20)
    assert log_ends.present_ends([SEGMENT], {SEGMENT: Position(5, 10)}) == {SEGMENT: Position(5, 20)}
    assert len(broker.consumers) == 1, "only that which stands where the query does"


def test_a_segment_without_a_message_ends_at_earliest(broker: Broker, log_ends: LogEnds) -> None:
    broker.end = broker.fresh = Position(5, 0)
    assert log_ends.ends([SEGMENT]) == {SEGMENT: EARLIEST}


def test_a_segment_that_ends_at_the_start_of_a_ledger_has_earlier_messages(
    broker: Broker, log_ends: LogEnds
) -> None:
    broker.end = Position(5, 0)
    assert log_ends.ends([SEGMENT]) == {SEGMENT: Position(5, 0)}
