"""What is retained is read, whatever moves the cursors of a topic's subscriptions meanwhile: brokers then go on further
behind without a word."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from integration.official import Admin, await_true, send_entries

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources import broker as broker_module, prefetch as ahead_module
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.tools.standalone import LocalPulsar

ENTRIES = 2_000
PERMITS = 50

Move = Callable[[Admin, str], None]


@pytest.fixture
def retained(admin: Admin) -> str:
    """A topic whose messages all stay."""
    namespace = f"public/moved-{time.monotonic_ns()}"
    admin.make_namespace(namespace)
    admin.request(
        "POST", f"namespaces/{namespace}/retention", {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
    )
    return f"persistent://{namespace}/t"


def clear(admin: Admin, topic: str) -> None:
    namespace = topic.partition("://")[2].rpartition("/")[0]
    answer = admin.request("POST", f"namespaces/{namespace}/clearBacklog", {})
    assert answer.status < 300, answer.data


def expire(admin: Admin, topic: str) -> None:
    """What a broker does every five minutes where a namespace has a message TTL."""
    time.sleep(2.1)
    answer = admin.request("POST", f"{topic.replace('://', '/')}/all_subscription/expireMessages/1")
    assert answer.status < 300, answer.data

    def are_moved() -> bool:
        subscriptions = admin.stats(topic)["subscriptions"]
        return bool(subscriptions) and all(each["msgBacklog"] == 0 for each in subscriptions.values())

    # The broker answers before it has moved them.
    await_true("cursors at the end", are_moved)


def read(
    server: LocalPulsar, topic: str, start: Position, move: Callable[[], None], consumers: int
) -> list[int]:
    """The entry ids of the range from `start` to the present end; `move` is called in the middle, then more is sent."""
    partition = TopicPartition.parse(topic)
    found: list[int] = []
    options = ReadOptions(service_url=server.service_url, topic=topic)
    with BrokerClient(options) as client:
        end = LogEnds(client).ends([partition])[partition]
    with BrokerClient(options) as client:
        source = BrokerEntries(
            client, partition, start, end, permits=PERMITS, poll_seconds=60.0, consumers=consumers
        )
        reached = start
        for entries in source:
            entries.trim(reached.as_tuple(), end.as_tuple())
            if entries.first is None or entries.last is None:
                continue
            assert entries.last[1] - entries.first[1] + 1 == len(entries)
            found += range(entries.first[1], entries.last[1] + 1)
            before, reached = reached, Position(entries.last[0], entries.last[1] + 1)
            if before == start:
                move()
                send_entries(server.service_url, topic, range(100))
    return found


@pytest.mark.parametrize("consumers", [1, 3])
@pytest.mark.parametrize("move", [clear, expire])
def test_nothing_is_passed_over(
    pulsar: LocalPulsar,
    admin: Admin,
    retained: str,
    move: Move,
    consumers: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead_module, "LEAST_ENTRIES", 10)
    send_entries(pulsar.service_url, retained, range(ENTRIES))
    assert read(pulsar, retained, EARLIEST, lambda: move(admin, retained), consumers) == list(range(ENTRIES))


@pytest.mark.parametrize("move", [clear, expire])
def test_control_a_reader_that_does_not_ask_passes_over_them(
    pulsar: LocalPulsar, admin: Admin, retained: str, move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "cut_where_skipped", lambda *_: False)
    send_entries(pulsar.service_url, retained, range(ENTRIES))
    found = read(pulsar, retained, EARLIEST, lambda: move(admin, retained), consumers=1)
    assert 0 < len(found) < ENTRIES
