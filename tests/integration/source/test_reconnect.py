"""Connections that break, fall silent or are not read from: no row is lost or repeated, and no task hangs."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import pulsar as official_client
import pytest
from fixtures.forwarder import MESSAGE, Forwarder, SeenCommand
from integration.official import Admin, await_true, open_client
from integration.streams import send_numbers, to_files, values_in
from pyspark.sql import SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection import (
    connection as connection_module,
    transport as transport_module,
)
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import DeadlineExceeded
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.tools.standalone import LocalPulsar

# The server's interval, longer than the server or the test pauses on a busy machine.
KEEP_ALIVE_SECONDS = 12
SUBSCRIBE = 4
LARGE, LARGE_BYTES = 600, 100_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    """Yield a server for kills, which closes a connection after 8 s of silence."""
    config = {"keepAliveIntervalSeconds": str(KEEP_ALIVE_SECONDS)}
    with LocalPulsar(data=tmp_path_factory.mktemp("pulsar"), config=config) as server:
        yield server


@pytest.fixture
def client(server: LocalPulsar) -> Iterator[official_client.Client]:
    client = open_client(server.service_url)
    yield client
    client.close()


@pytest.fixture
def large(client: official_client.Client, topic: str) -> str:
    """Return a topic with twice as many bytes as a connection buffers for slow readers."""
    producer = client.create_producer(topic, batching_enabled=False, block_if_queue_full=True)
    for number in range(LARGE):
        producer.send_async(str(number).encode().ljust(LARGE_BYTES), callback=lambda *_: None)
    producer.flush()
    producer.close()
    return topic


def kill_and_restart(server: LocalPulsar) -> None:
    """Kill broker, bookie and metadata store together with SIGKILL, and restart them with the same data and ports."""
    before = server.service_url
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await_true("the end of the server", lambda: server.status().pid is None)
    # The first thread of a killed process may end before the others, and before its sockets are closed.
    await_true("free ports", lambda: not accepts_connections(urlsplit(before)))
    server.start(with_caller=True)
    assert server.service_url == before


def accepts_connections(url: SplitResult) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex((url.hostname, url.port)) == 0


def read(service_url: str, topic: str, interrupt: Callable[[BrokerClient, int], None]) -> list[int]:
    """Read the topic as a task does, with `interrupt` between the deliveries."""
    options = ReadOptions(service_url=service_url, topic=topic)
    partition = TopicPartition.parse(topic)
    values: list[int] = []
    with BrokerClient(options) as client:
        end = LogEnds(client).ends([partition])[partition]
        decoder = EntryDecoder(
            resolve_read_schema(None, topic=topic, columns=["value"]),
            topic=topic, partition=-1, fetch_schema=lambda _: None, batch_rows=100,
        )  # fmt: skip
        location = BrokerEntries(client, partition, EARLIEST, end, permits=20_000, poll_seconds=240.0)
        for index, entries in enumerate(location):
            values += itertools.chain.from_iterable(
                map(int, batch.column("value").to_pylist()) for batch in decoder.decode(entries)
            )
            interrupt(client, index)
        for batch in decoder.finish():
            values += map(int, batch.column("value").to_pylist())
    return values


# The broker dies


def test_a_task_survives_a_restart_of_its_broker(server: LocalPulsar, large: str) -> None:
    killed: list[int] = []

    def kill(_: BrokerClient, index: int) -> None:
        if not killed:
            killed.append(index)
            kill_and_restart(server)

    assert read(server.service_url, large, kill) == list(range(LARGE))
    assert killed == [0]


def test_a_stream_and_its_subscription_survive_a_restart_of_the_broker(
    server: LocalPulsar, topic: str, tmp_path: Path, spark: SparkSession
) -> None:
    def send(numbers: range) -> None:
        client = official_client.Client(server.service_url)
        send_numbers(client, topic, numbers)
        client.close()

    send(range(200))
    frame = (
        spark.readStream.format("pulsar")
        .option("service.url", server.service_url)
        .option("topic", topic)
        .option("startingOffsets", "earliest")
        .option("subscriptionName", "kept")
        .option("pollTimeoutMs", 300_000)
        .load()
    )
    query = to_files(frame, tmp_path).start()
    try:
        query.processAllAvailable()
        kill_and_restart(server)
        send(range(200, 300))
        query.processAllAvailable()
        admin = Admin(server.admin_url)
        await_true("no backlog", lambda: admin.stats(topic)["subscriptions"]["kept"]["msgBacklog"] == 0)
    finally:
        query.stop()
    assert query.exception() is None
    assert values_in(spark, tmp_path) == Counter(range(300))


# Silence


@pytest.mark.parametrize("pings", [True, False], ids=["pings", "control"])
def test_a_slow_reader_keeps_its_connection(
    server: LocalPulsar, large: str, pings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker closes a connection if the client does not read its pings, as the control shows.

    A task then resumes at its position.
    """
    # One delivery and the buffered bytes are far smaller than the topic.
    monkeypatch.setattr(transport_module, "MAX_BUFFERED_BYTES", LARGE * LARGE_BYTES // 20)
    if not pings:
        monkeypatch.setattr(connection_module, "PAUSED_PING_SECONDS", 3600.0)
    admin = Admin(server.admin_url)
    # The list keeps the connections alive, so that no id repeats.
    opened: dict[BrokerAddress, list[Connection]] = defaultdict(list)

    def slow(client: BrokerClient, index: int) -> None:
        for address, connection in client._connections._open.items():
            if connection not in opened[address]:
                opened[address].append(connection)
        if index == 0 and pings:
            time.sleep(2.5 * KEEP_ALIVE_SECONDS)
        elif index == 0:
            # On a busy machine the broker needs a while to send as much as the connection buffers.
            await_true("the end of the connection", lambda: not admin.stats(large)["subscriptions"])

    assert read(server.service_url, large, slow) == list(range(LARGE))
    assert max(len(each) for each in opened.values()) == (1 if pings else 2)


def test_an_idle_consumer_keeps_its_connection(server: LocalPulsar, topic: str) -> None:
    Admin(server.admin_url).create(topic)
    with BrokerClient(ReadOptions(service_url=server.service_url, topic=topic)) as client:
        consumer = subscribe(client, topic, EARLIEST)
        consumer.add_permits(10)
        assert consumer.take(2.5 * KEEP_ALIVE_SECONDS) is None
        assert consumer.end() == EARLIEST
        assert consumer.connection.is_open


def test_a_connection_to_a_silent_broker_is_closed(
    server: LocalPulsar, large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The client closes the connection after 12 s, far longer than a server pauses on a busy machine. Its interval is
    # shorter than the server's: otherwise the server would miss the client's pings, and close the connection first.
    monkeypatch.setattr(connection_module, "KEEP_ALIVE_SECONDS", 6.0)
    over = threading.Event()
    connections: list[int] = []

    def fall_silent(seen: SeenCommand) -> None:
        if seen.command != MESSAGE:
            return
        if seen.connection not in connections:
            connections.append(seen.connection)
        if seen.connection == connections[0] and seen.nth == 100:
            over.wait(60)

    with Forwarder(server.service_url, fall_silent) as forwarder:
        try:
            assert read(forwarder.service_url, large, lambda *_: None) == list(range(LARGE))
        finally:
            over.set()
    assert len(connections) == 2


# Time limits

# Far below operationTimeoutMs, and long enough for the steps before the step that hangs.
POLL_SECONDS, SLACK_SECONDS = 4.0, 16.0


def test_poll_timeout_bounds_a_connect_that_hangs(topic: str) -> None:
    """The listener accepts the connection, but never sends a byte."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        elapsed, text = seconds_to_fail(f"pulsar://127.0.0.1:{silent.getsockname()[1]}", topic)
    assert POLL_SECONDS - 0.5 < elapsed < POLL_SECONDS + SLACK_SECONDS
    assert "no answer to CONNECT" in text


def test_poll_timeout_bounds_a_subscribe_that_hangs(server: LocalPulsar, topic: str) -> None:
    Admin(server.admin_url).create(topic)
    over = threading.Event()

    def hang(seen: SeenCommand) -> None:
        if seen.command == SUBSCRIBE:
            over.wait(60)

    with Forwarder(server.service_url, hang) as forwarder:
        try:
            elapsed, text = seconds_to_fail(forwarder.service_url, topic)
        finally:
            over.set()
    assert POLL_SECONDS - 0.5 < elapsed < POLL_SECONDS + SLACK_SECONDS
    assert f"subscribing to {topic}" in text


def seconds_to_fail(service_url: str, topic: str) -> tuple[float, str]:
    began = time.monotonic()
    with BrokerClient(ReadOptions(service_url=service_url, topic=topic)) as client:
        location = BrokerEntries(
            client,
            TopicPartition.parse(topic),
            EARLIEST,
            Position(1, 1),
            permits=10,
            poll_seconds=POLL_SECONDS,
        )
        with pytest.raises(DeadlineExceeded, match="pollTimeoutMs") as caught:
            next(iter(location))
    return time.monotonic() - began, str(caught.value)
