"""Look-backs for earlier chunks over broken connections, unloads, and removed messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from fixtures.forwarder import MESSAGE, Cut, Forwarder, SeenCommand
from integration.official import Admin
from integration.raw_producer import RawProducer

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.commands import SUBSCRIBE
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.tools.standalone import LocalPulsar

PIECES = [b"first ", b"second ", b"third"]
WHOLE = b"".join(PIECES)

Watch = Callable[[SeenCommand], None]


@dataclass(frozen=True)
class Spread:
    """The positions of a message with each chunk in a ledger of its own, among other messages. A plain
    message follows.
    """

    first: Position
    last: Position
    end: Position
    looking_back: str
    """The first words of the error with which a search for earlier entries fails."""


def spread(server: LocalPulsar, topic: str, admin: Admin) -> Spread:
    admin.create(topic)
    with RawProducer(server.service_url, topic) as raw:
        raw.send(b"before")
        first = raw.chunk("a", 0, PIECES)
        raw.send(b"between")
        admin.unload(topic)
        raw.send(b"between")
        raw.chunk("a", 1, PIECES)
        raw.send(b"between")
        admin.unload(topic)
        for _ in range(20):
            raw.send(b"between")
        last = raw.chunk("a", 2, PIECES)
        raw.send(b"plain")
    with BrokerClient(ReadOptions(service_url=server.service_url, topic=topic)) as client:
        partition = TopicPartition.parse(topic)
        end = LogEnds(client).ends([partition])[partition]
    place = f"topic {topic}, ledger {last.ledger}, entry {last.entry}"
    return Spread(first, last, end, f"{place}: looking back for the first of the 3 chunks")


def read(
    server: LocalPulsar, topic: str, start: Position, end: Position, watch: Watch, **options: Any
) -> list[bytes]:
    """Return the values of a range, read like a task; `watch` gets each command on its way to the server."""
    direct = ReadOptions(service_url=server.service_url, topic=topic)
    schema = resolve_source_schema(direct)
    with Forwarder(server.service_url, watch) as forwarder:
        parsed = ReadOptions(service_url=forwarder.service_url, topic=topic, **options)
        ranges = (SplitRange(start, end, FromBroker()),)
        batches = read_split(parsed, schema, Split(TopicPartition.parse(topic), start, end, ranges))
        return [value for batch in batches for value in batch.column("value").to_pylist()]


def looks_back(seen: SeenCommand) -> bool:
    """Return whether the command belongs to a look-back.

    The task's own client first opens a connection for lookups and one for its topic. Later connections look back.
    """
    return seen.connection > 1


def kinds_of_look_back(read_watched: Callable[[Watch], object]) -> Counter[int]:
    """Count the commands of each kind in an undisturbed look-back."""
    commands: Counter[int] = Counter()

    def count(seen: SeenCommand) -> None:
        commands[seen.command] += looks_back(seen)

    read_watched(count)
    return +commands


@dataclass
class Once:
    """A watcher that runs an action at the `nth` command of a kind, counted over all connections that look back."""

    command: int
    nth: int
    do: Callable[[], None]
    count: int = 0
    done: bool = False

    def __call__(self, seen: SeenCommand) -> None:
        if not looks_back(seen) or seen.command != self.command:
            return
        self.count += 1
        if self.count > self.nth and not self.done:
            self.done = True
            self.do()


def cut(after: int = 0) -> None:
    raise Cut(after)


def test_look_backs_survive_a_break_at_any_command(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    where = spread(pulsar, topic, admin)

    def read_watched(watch: Watch) -> list[bytes]:
        return read(pulsar, topic, where.last, where.end, watch)

    counts = kinds_of_look_back(read_watched)
    assert counts[MESSAGE] > 60
    assert counts[SUBSCRIBE] > 4
    for command, count in counts.items():
        for nth in {0, 1, count // 2, count - 1}:
            for after in (0, 10):
                once = Once(command, nth, lambda after=after: cut(after))
                assert read_watched(once) == [WHOLE, b"plain"], (command, nth, after)
                # The reader does not wait for the last close, its answer, or messages after the last chunk.
                assert once.done or nth >= count - 1


def test_look_backs_survive_a_break_between_any_two_chunks(
    pulsar: LocalPulsar, topic: str, admin: Admin
) -> None:
    """Each connection delivers one entry; the next attempt continues after the entry."""
    where = spread(pulsar, topic, admin)
    cuts = 0

    def at_the_second(seen: SeenCommand) -> None:
        nonlocal cuts
        if looks_back(seen) and seen.command == MESSAGE and seen.nth == 1:
            cuts += 1
            raise Cut

    assert read(pulsar, topic, where.last, where.end, at_the_second) == [WHOLE, b"plain"]
    assert cuts > 60


def test_look_backs_survive_an_unload_at_any_message(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    where = spread(pulsar, topic, admin)

    def read_watched(watch: Watch) -> list[bytes]:
        return read(pulsar, topic, where.last, where.end, watch)

    counts = kinds_of_look_back(read_watched)
    for command in (MESSAGE, SUBSCRIBE):
        for nth in range(0, counts[command], 1 + counts[command] // 7):
            once = Once(command, nth, lambda: admin.unload(topic))
            assert read_watched(once) == [WHOLE, b"plain"], (command, nth)
            # The number of messages that arrive before a reader has enough is random, by one for each
            # look-back.
            assert once.done or (command == MESSAGE and nth > counts[command] - 10)


def test_a_look_back_without_delivery_fails_at_its_deadline(
    pulsar: LocalPulsar, topic: str, admin: Admin
) -> None:
    where = spread(pulsar, topic, admin)

    def at_each_message(seen: SeenCommand) -> None:
        if looks_back(seen) and seen.command == MESSAGE:
            raise Cut(after=30)

    with pytest.raises(DeadlineExceeded) as caught:
        read(pulsar, topic, where.last, where.end, at_each_message, poll_timeout_ms=10_000)
    assert str(caught.value).startswith(where.looking_back)
    assert "got none within 10 s (the last attempt: " in str(caught.value)
