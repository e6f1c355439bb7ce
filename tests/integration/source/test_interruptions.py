"""Unloaded topics, broken connections and refused messages in the middle of the work."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from fixtures.forwarder import Forwarder, SeenCommand
from integration.official import Admin

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import SendError
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions, WriteOptions
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.sources.broker import BrokerEntries
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows

ROWS, BATCH = 20_000, 500
COLUMNS = pa.schema([pa.field("value", pa.string())])


def numbers(rows: int = ROWS) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows, BATCH):
        yield pa.RecordBatch.from_pydict(
            {"value": [str(number) for number in range(first, first + BATCH)]}, schema=COLUMNS
        )


def write(
    server: LocalPulsar, topic: str, between: Callable[[int], None] = lambda _: None, timeout_ms: int = 30_000
) -> int:
    """Write the numbers as a task does, calling `between` with the index of each batch before it is sent."""
    options = WriteOptions(
        service_url=server.service_url, topic=topic, batching_max_messages=2, send_timeout_ms=timeout_ms
    )

    def interrupted() -> Iterator[pa.RecordBatch]:
        for index, batch in enumerate(numbers()):
            between(index)
            yield batch

    return write_rows(options, settle_target(options, COLUMNS), interrupted())


def read(server: LocalPulsar, topic: str, interrupt: Callable[[BrokerClient, int], None]) -> list[int]:
    """Read the topic as a task does, a few messages at a time, with `interrupt` between the deliveries."""
    options = ReadOptions(service_url=server.service_url, topic=topic)
    partition = TopicPartition.parse(topic)
    schema = resolve_source_schema(options)
    values: list[int] = []
    with BrokerClient(options) as client:
        end = LogEnds(client).ends([partition])[partition]
        decoder = EntryDecoder(
            schema, topic=topic, partition=-1, fetch_schema=lambda _: None, batch_rows=1000
        )
        location = BrokerEntries(client, partition, EARLIEST, end, permits=100, poll_seconds=60.0)
        for index, entries in enumerate(location):
            values += itertools.chain.from_iterable(
                map(int, batch.column("value").to_pylist()) for batch in decoder.decode(entries)
            )
            interrupt(client, index)
        for batch in decoder.finish():
            values += map(int, batch.column("value").to_pylist())
    return values


def cut(client: BrokerClient) -> None:
    """Break the connections under the client, as a failing network does."""
    for connection in list(client._connections._open.values()):
        if connection.is_open:
            connection._transport._stream.shutdown(socket.SHUT_RDWR)


def test_reads_return_each_row_once_over_unloads(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    write(pulsar, topic)
    moves = []

    def move(_: BrokerClient, index: int) -> None:
        if index % 10 == 3 and len(moves) < 5:
            admin.unload(topic)
            moves.append(index)

    assert read(pulsar, topic, move) == list(range(ROWS))
    assert len(moves) == 5


def test_reads_return_each_row_once_over_broken_connections(pulsar: LocalPulsar, topic: str) -> None:
    write(pulsar, topic)
    cuts = []

    def break_connections(client: BrokerClient, index: int) -> None:
        if index % 7 == 2 and len(cuts) < 8:
            cut(client)
            cuts.append(index)

    assert read(pulsar, topic, break_connections) == list(range(ROWS))
    assert len(cuts) == 8


def test_tasks_of_one_process_share_a_connection(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    """Tasks share a connection also after an unload, and replace a connection that broke while idle."""
    commands: list[SeenCommand] = []
    with Forwarder(pulsar.service_url, commands.append) as forwarder:
        options = ReadOptions(service_url=forwarder.service_url, topic=topic, consumers_per_split=1)
        target = WriteOptions(service_url=forwarder.service_url, topic=topic)
        write_rows(target, settle_target(target, COLUMNS), numbers(BATCH))
        split, schema = plan_batch(options).splits[0], resolve_source_schema(options)

        def task() -> int:
            return sum(batch.num_rows for batch in read_split(options, schema, split))

        def connections_of(tasks: int) -> set[int]:
            commands.clear()
            assert [task() for _ in range(tasks)] == [BATCH] * tasks
            return {seen.connection for seen in commands}

        first = connections_of(3)
        admin.unload(topic)
        assert connections_of(3) == first
        forwarder.cut()
        # One connection looks up the owner, one connects to the owner.
        second = connections_of(3)
        assert max(len(first), len(second)) <= 2
        assert not first & second


def test_writes_store_all_rows_over_unloads(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    """Writes store all rows at least once, first occurrences in order, and repeated rows are marked as such."""
    assert write(pulsar, topic, lambda index: admin.unload(topic) if index in (5, 17, 30) else None) == ROWS
    found = read(pulsar, topic, lambda *_: None)
    assert list(dict.fromkeys(found)) == list(range(ROWS))


def test_a_terminated_topic_fails_the_task(pulsar: LocalPulsar, topic: str, admin: Admin) -> None:
    """The broker refuses the message immediately, or keeps the topic fenced until the time to send is over."""
    with pytest.raises(SendError, match=r"counts as written|terminated"):
        write(pulsar, topic, lambda index: admin.terminate(topic) if index == 10 else None, timeout_ms=25_000)


def test_a_read_succeeds_right_after_a_server_restart(tmp_path: Path) -> None:
    """A broker's first answer about a loaded topic can take 30 s, longer than one request may wait."""
    name = "persistent://public/default/kept"
    with LocalPulsar(data=tmp_path) as server:
        write(server, name)
    with LocalPulsar(data=tmp_path) as server:
        assert read(server, name, lambda *_: None) == list(range(ROWS))
