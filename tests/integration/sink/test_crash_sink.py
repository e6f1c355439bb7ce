"""A streaming query that writes exactly-once, killed at steps of the protocol, doubled by Spark, doubled by
its user.

The sink reaches the broker through a forwarder that sees each command: driver or workers die just before a step. The
official Java client reads the result: every row once, in order under its key.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.forwarder import Forwarder, SeenCommand
from fixtures.spark_cluster import spark_cluster
from integration.official import Admin, JavaClient, await_true
from soak.query import Query

from pyspark_pulsar.client.broker.connection.commands import (
    ADD_PARTITION_TO_TXN,
    END_TXN,
    NEW_TXN,
    SEND_RECEIPT,
)
from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS, KEYS = 300, 7
END_TXN_RESPONSE = 57
_SECONDS = 240
_SLOW_SECONDS = 600
_WIDE = 2000
# A kind of command, and the number of the command at which the kill happens.
STEPS_OF_DRIVERS = [
    (NEW_TXN, 1),
    (ADD_PARTITION_TO_TXN, 1),
    (SEND_RECEIPT, 5),
    (END_TXN, 1),
    (END_TXN_RESPONSE, 1),
]
STEPS_OF_WORKERS = [(ADD_PARTITION_TO_TXN, 1), (SEND_RECEIPT, 4)]


class Killer:
    """A watcher that kills a query, or its workers, at the n-th command of a kind after `arm`, on any connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._command = self._left = 0
        self._kill: Callable[[], None] = lambda: None
        self.killed = False

    def arm(self, command: int, nth: int, kill: Callable[[], None]) -> None:
        with self._lock:
            self._command, self._left, self._kill = command, nth, kill
            self.killed = False

    def __call__(self, seen: SeenCommand) -> None:
        if seen.command != self._command:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._kill()
                self.killed = True


@pytest.fixture
def source(topic: str, official: official_client.Client, admin: Admin) -> str:
    """Return a topic with `ROWS` numbers under keys; the sink, `topic`, has two partitions."""
    admin.create_partitioned(topic, 2)
    name = f"{topic}-source"
    send(official, name, 0)
    return name


def send(official: official_client.Client, name: str, first: int, width: int = 0) -> None:
    producer = official.create_producer(name)
    for number in range(first, first + ROWS):
        producer.send_async(
            str(number).ljust(width).encode(), lambda *_: None, partition_key=f"key-{number % KEYS}"
        )
    producer.flush()
    producer.close()


def setting(pulsar: LocalPulsar, source: str, topic: str, sink_url: str, **more: Any) -> str:
    return json.dumps(
        {
            "source": {"service.url": pulsar.service_url, "topic": source, "startingOffsets": "earliest"},
            "sink": {"service.url": sink_url, "topic": topic, "deliveryGuarantee": "exactly-once"},
            **more,
        }
    )


def query_of(folder: Path, given: str) -> Query:
    return Query(folder, "stream_to_topic.py", given)


def finish(query: Query) -> None:
    failed = query.read_what_is_there(_SECONDS)
    assert failed is None, failed


def assert_once(java_client: JavaClient, topic: str, rows: int = ROWS) -> None:
    found = java_client.read(topic, "STRING")
    assert Counter(int(row["value"]) for row in found) == Counter(range(rows))
    by_key: dict[str, list[int]] = defaultdict(list)
    for row in found:
        by_key[base64.b64decode(row["keyBytes"]).decode()].append(int(row["value"]))
    assert by_key == {f"key-{key}": list(range(key, rows, KEYS)) for key in range(KEYS)}


@pytest.mark.parametrize(("command", "nth"), STEPS_OF_DRIVERS[1:])
def test_a_driver_killed_in_the_first_epoch_repeats_no_row(
    pulsar: LocalPulsar,
    java_client: JavaClient,
    topic: str,
    source: str,
    tmp_path: Path,
    command: int,
    nth: int,
) -> None:
    """The driver dies before checkpoint or journal has an epoch."""
    killer = Killer()
    with Forwarder(pulsar.service_url, killer) as forwarder:
        query = query_of(tmp_path, setting(pulsar, source, topic, forwarder.service_url))
        killer.arm(command, nth, query.kill)
        query.start()
        await_true("the step", lambda: killer.killed, _SECONDS)
    finish(query_of(tmp_path, setting(pulsar, source, topic, pulsar.service_url)))
    assert_once(java_client, topic, ROWS)


def test_killed_drivers_and_workers_lose_and_repeat_no_row(
    pulsar: LocalPulsar,
    java_client: JavaClient,
    official: official_client.Client,
    topic: str,
    source: str,
    tmp_path: Path,
) -> None:
    """Each run completes the epoch of the run before it. Then more rows arrive, and it is killed while it
    sends them.

    After killed workers, the first attempt's transaction is aborted and the second's rows are stored. No reader is
    blocked.
    """
    killer, sent = Killer(), ROWS
    with Forwarder(pulsar.service_url, killer) as forwarder:
        query = query_of(tmp_path, setting(pulsar, source, topic, forwarder.service_url))

        def await_all(commits: int) -> None:
            await_true("the commit", lambda: query.committed() > commits or query.has_ended, _SECONDS)
            assert not query.has_ended, query.end_of_log()
            await_true("the rows", lambda: len(java_client.read(topic, "STRING")) >= sent, _SECONDS)
            assert_once(java_client, topic, sent)

        def send_and_kill(command: int, nth: int, kill: Callable[[], None]) -> None:
            nonlocal sent
            killer.arm(command, nth, kill)
            send(official, source, sent)
            sent += ROWS
            await_true("the step", lambda: killer.killed, _SECONDS)

        # The journal is still empty.
        killer.arm(*STEPS_OF_DRIVERS[0], query.kill)
        query.start()
        await_true("the step", lambda: killer.killed, _SECONDS)
        for step in STEPS_OF_DRIVERS[1:]:
            commits = query.committed()
            query.start()
            await_all(commits)
            send_and_kill(*step, query.kill)
        commits = query.committed()
        query.start()
        await_all(commits)
        for step in STEPS_OF_WORKERS:
            commits = query.committed()
            send_and_kill(*step, query.kill_workers)
            await_all(commits)
        query.kill()
    finish(query_of(tmp_path, setting(pulsar, source, topic, pulsar.service_url)))
    assert_once(java_client, topic, sent)


def test_only_the_winner_of_two_speculative_attempts_is_stored(
    pulsar: LocalPulsar,
    java_client: JavaClient,
    official: official_client.Client,
    admin: Admin,
    topic: str,
    tmp_path: Path,
) -> None:
    """Spark runs a second attempt beside the first one; the first one's rows, mostly sent, must not appear."""
    admin.create_partitioned(topic, 2)
    source = f"{topic}-wide"
    # More rows than the pipes between Spark and its workers can buffer.
    send(official, source, 0, width=_WIDE)
    seen: Counter[int] = Counter()

    def count(each: SeenCommand) -> None:
        seen[each.command] += 1

    conf = {
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.task.duration.threshold": "3s",
        "spark.speculation.minTaskRuntime": "1s",
        # Most rows are sent before the last row arrives.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    }
    with Forwarder(pulsar.service_url, count) as forwarder, spark_cluster(tmp_path) as cluster:
        lame = [_SLOW_SECONDS, str(ROWS - 1).ljust(_WIDE)]
        url = forwarder.service_url
        began = time.monotonic()
        finish(
            query_of(tmp_path, setting(pulsar, source, topic, url, master=cluster.url, conf=conf, lame=lame))
        )
        assert time.monotonic() - began < _SLOW_SECONDS
    # Two are of the attempts. One or two abort the slow attempt's: by the driver, and by the attempt if Spark
    # permits.
    assert seen[NEW_TXN] in (3, 4)
    assert_once(java_client, topic)


def test_one_of_two_queries_on_a_checkpoint_is_stopped(
    pulsar: LocalPulsar,
    java_client: JavaClient,
    official: official_client.Client,
    topic: str,
    source: str,
    tmp_path: Path,
) -> None:
    """The journal stops one of the queries, or Spark does, if both write the same file of the checkpoint."""
    given = setting(pulsar, source, topic, pulsar.service_url)
    queries = [query_of(tmp_path, given) for _ in range(2)]
    sent = ROWS
    try:
        for number, query in enumerate(queries):
            query.log = tmp_path / f"driver-{number}.log"
            query.start()
            # If two queries begin a checkpoint at the same moment, Spark may stop both, also at later starts
            # (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY).
            await_true("an epoch", lambda: any(tmp_path.glob("checkpoint/commits/[0-9]*")), _SECONDS)
        give_up = time.monotonic() + _SECONDS
        while not any(query.has_ended for query in queries):
            assert time.monotonic() < give_up, "both go on"
            send(official, source, sent)
            sent += ROWS
            time.sleep(1)
        said = "".join(query.end_of_log() for query in queries if query.has_ended)
        told = "has taken over|concurrently using|CONCURRENT_STREAM_LOG_UPDATE|is decided already"
        assert re.search(told, said), said
    finally:
        for query in queries:
            query.kill()
    finish(queries[0])
    assert_once(java_client, topic, sent)
