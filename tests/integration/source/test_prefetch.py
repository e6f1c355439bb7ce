"""Several consumers at a time on one range (option consumersPerSplit): the same rows in the same order, whatever the
topic is like and whatever happens to them."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from integration.official import SPECIAL_MESSAGES, Admin, JavaClient, as_base64, await_true, send_entries

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection import (
    connection as connection_module,
    transport as transport_module,
)
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.subscribe import Subscribing, subscribe
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources import prefetch as ahead_module
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.sources.prefetch import PrefetchingConsumers
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.tools.standalone import LocalPulsar

Place = tuple[int, int, int]
ENTRIES = 3_000


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Position]:
    """Where consumers began ahead of another; parts are short."""
    monkeypatch.setattr(ahead_module, "LEAST_ENTRIES", 5)
    monkeypatch.setattr(ahead_module, "MOST_ENTRIES", 40)
    starts: list[Position] = []
    begin = PrefetchingConsumers._begin

    def noted(self: PrefetchingConsumers, connection: Connection, start: Position, *rest: Any) -> None:
        starts.append(start)
        begin(self, connection, start, *rest)

    monkeypatch.setattr(PrefetchingConsumers, "_begin", noted)
    return starts


def read(
    server: LocalPulsar,
    topic: str,
    start: Position = EARLIEST,
    end: Position | None = None,
    between: Callable[[int], None] = lambda _: None,
    **options: Any,
) -> list[tuple[Place, bytes]]:
    """As a task reads, calling `between` with the number of batches so far. By default a broker may send it little at
    a time: what all waits for a task that stands still for a moment, nobody needs to read ahead."""
    chosen = ReadOptions(
        service_url=server.service_url,
        topic=topic,
        columns=("value", "__messageId"),
        batch_rows=100,
        **{"receiver_queue_size": 200} | options,
    )
    partition = TopicPartition.parse(topic)
    if end is None:
        with BrokerClient(chosen) as client:
            end = LogEnds(client).ends([partition])[partition]
    rows: list[tuple[Place, bytes]] = []
    schema = resolve_source_schema(chosen)
    split = Split(partition, start, end, (SplitRange(start, end, FromBroker()),))
    for number, batch in enumerate(read_split(chosen, schema, split)):
        between(number)
        for value, place in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            ledger, entry, index, *_ = place.values()
            rows.append(((ledger, entry, index), value))
    return rows


def random_steps(rng: random.Random, most: int) -> Iterator[dict[str, Any]]:
    """Plain messages and transactions of up to `most`; the last one is plain."""
    sent = 0
    while sent < ENTRIES // 6:
        texts = [f"{sent + number}" for number in range(rng.choice((1, 2, 5, most)))]
        sent += len(texts)
        ending = rng.choice((None, None, "commit", "abort"))
        step: dict[str, Any] = {"messages": [{"value": as_base64(text.encode())} for text in texts]}
        yield step if ending is None else step | {"end": ending}
    yield {"messages": [{"value": as_base64(b"the last")}]}


@pytest.mark.parametrize("batching", [False, True], ids=["unbatched", "batched"])
def test_any_range_of_any_topic(
    batching: bool,
    topic: str,
    pulsar: LocalPulsar,
    admin: Admin,
    rng: random.Random,
    begun: list[Position],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three ledgers with markers and aborted transactions, against the official Java Reader."""
    java = JavaClient(pulsar, SPECIAL_MESSAGES)
    for _ in range(3):
        steps = list(random_steps(rng, 5 if batching else 60))
        java.run({"do": "produce", "topic": topic, "steps": steps, "batching": batching})
        admin.unload(topic)
    (theirs,) = java.run({"do": "read", "topic": topic})
    places = [(each["ledger"], each["entry"], each["batchIndex"]) for each in theirs]
    assert read(pulsar, topic, consumers_per_split=1)
    assert not begun
    for _ in range(12):
        monkeypatch.setattr(ahead_module, "MOST_ENTRIES", rng.choice((6, 20, 80, 400)))
        first, last = sorted(rng.sample(range(len(places)), 2))
        start = rng.choice((EARLIEST, _at(places[first])))
        first = 0 if start == EARLIEST else first
        found = read(
            pulsar,
            topic,
            start,
            _at(places[last]),
            consumers_per_split=rng.choice((2, 3, 6)),
            receiver_queue_size=rng.choice((10, 50, 20_000)),
        )
        assert [place for place, _ in found] == places[first:last]
    assert begun


def _at(place: Place) -> Position:
    # Of a message without a batch, the index is -1.
    return Position(place[0], place[1], max(0, place[2]))


def numbers(rows: list[tuple[Place, bytes]]) -> list[int]:
    return [int(value) for _, value in rows]


def test_topics_that_move_and_connections_that_break(
    topic: str, pulsar: LocalPulsar, admin: Admin, begun: list[Position], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_entries(pulsar.service_url, topic, range(ENTRIES))
    opened: list[Connection] = []
    start = Connection.start

    def noted(self: Connection) -> None:
        opened.append(self)
        start(self)

    monkeypatch.setattr(Connection, "start", noted)

    def disturb(number: int) -> None:
        if number % 12 == 2:
            # A topic that is unloaded again at once may never show its messages (4.0.8).
            time.sleep(0.5)
            admin.unload(topic)
        elif number % 12 == 8:
            for each in opened:
                if each.is_open:
                    each._transport._stream.shutdown(socket.SHUT_RDWR)

    # Other options than those of tasks before, whose connections it would take over.
    assert numbers(read(pulsar, topic, between=disturb, connection_timeout_ms=9_999)) == list(range(ENTRIES))
    assert len(opened) > 4
    assert len(begun) > 10


def test_those_ahead_never_stand_in_the_way(
    topic: str, pulsar: LocalPulsar, begun: list[Position], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries grow, and what waits for the consumers ahead is more than a connection keeps."""
    monkeypatch.setattr(ahead_module, "MOST_ENTRIES", 100)
    monkeypatch.setattr(transport_module, "MAX_BUFFERED_BYTES", 200_000)
    monkeypatch.setattr(connection_module, "PAUSED_PING_SECONDS", 0.1)
    send_entries(pulsar.service_url, topic, range(150), size=100)
    send_entries(pulsar.service_url, topic, range(150, 600), size=10_000)
    assert numbers(read(pulsar, topic, poll_timeout_ms=20_000)) == list(range(600))
    assert begun


def test_short_ledgers_are_not_read_many_times(
    topic: str, pulsar: LocalPulsar, admin: Admin, begun: list[Position]
) -> None:
    for ledger in range(8):
        send_entries(pulsar.service_url, topic, range(ledger * 100, ledger * 100 + 100))
        admin.unload(topic)
    assert numbers(read(pulsar, topic)) == list(range(800))
    assert 1 <= len({each.ledger for each in begun}) <= 2


@contextmanager
def limited_subscriptions(admin: Admin, namespace: str, most: int) -> Iterator[None]:
    path = f"namespaces/{namespace}/maxSubscriptionsPerTopic"
    assert admin.request("POST", path, most).status < 300
    yield
    assert admin.request("DELETE", path).status < 300


@pytest.mark.parametrize("is_early", [True, False], ids=["told early", "told when a part is read"])
def test_a_limit_of_subscriptions_leaves_one(
    pulsar: LocalPulsar, admin: Admin, begun: list[Position], monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    # The answer is a refusal, however long it takes.
    monkeypatch.setattr(ahead_module, "_SETTLE_SECONDS", 60.0)
    if not is_early:
        monkeypatch.setattr(Subscribing, "is_answered", False)
    namespace = f"public/limited-{time.monotonic_ns()}"
    admin.make_namespace(namespace)
    topic = f"persistent://{namespace}/t"
    send_entries(pulsar.service_url, topic, range(ENTRIES))
    # Policies reach a broker a moment later.
    with limited_subscriptions(admin, namespace, 1):
        with BrokerClient(ReadOptions(service_url=pulsar.service_url, topic=topic)) as client:
            first = subscribe(client, topic, EARLIEST)
            await_true("the limit", lambda: _is_refused(client, topic))
            end = first.end()
        await_true("no subscription", lambda: not admin.subscriptions(topic))
        assert numbers(read(pulsar, topic, EARLIEST, end)) == list(range(ENTRIES))
    assert 1 <= len(begun) <= 3


def _is_refused(client: BrokerClient, topic: str) -> bool:
    try:
        subscribe(client, topic, EARLIEST).close(5.0)
    except PulsarError:
        return True
    return False


def test_nothing_is_left_behind(topic: str, pulsar: LocalPulsar, admin: Admin, begun: list[Position]) -> None:
    send_entries(pulsar.service_url, topic, range(ENTRIES))

    class Enough(Exception):
        pass

    def stop(number: int) -> None:
        if number == 4:
            raise Enough

    with pytest.raises(Enough):
        read(pulsar, topic, between=stop)
    assert begun
    await_true("no subscription", lambda: not admin.subscriptions(topic))
