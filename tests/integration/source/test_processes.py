"""Faults beside a query, on one machine: of its process on the driver, folders, brokers and pipes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from integration.checkpoint.checkpoints import location, new_name, of_session
from integration.official import await_true
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.security.url import BrokerAddress, parse_service_url
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ConnectionOptions, parse_options
from pyspark_pulsar.session.checkpoints import checkpoint_conf
from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.standalone import LocalPulsar

_MODULE = "pyspark_pulsar.spark.driver_process"
_CONNECT_SECONDS = 4.0
ROWS = 3


@pytest.fixture
def filled(topic: str, official: official_client.Client) -> str:
    producer = official.create_producer(topic)
    for number in range(ROWS):
        producer.send(str(number).encode())
    producer.close()
    return topic


def children(spark: SparkSession, module: str) -> list[int]:
    """Return the processes of a module that this JVM has started."""
    parent = str(spark._jvm.java.lang.ProcessHandle.current().pid())
    command = ["pgrep", "-P", parent, "-f", re.escape(module)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return sorted(map(int, listed.stdout.split()))


# The process on the driver


def test_a_cleaner_may_remove_temporary_folders_between_queries(
    spark: SparkSession, read_topic: Callable[[str], DataFrame], filled: str
) -> None:
    assert read_topic(filled).count() == ROWS
    for folder in Path(tempfile.gettempdir()).glob("pyspark-pulsar-*"):
        if (folder / "socket").exists():
            shutil.rmtree(folder)
    assert read_topic(filled).count() == ROWS
    assert len(children(spark, _MODULE)) == 1


def test_a_killed_process_is_restarted(
    spark: SparkSession, read_topic: Callable[[str], DataFrame], filled: str
) -> None:
    assert read_topic(filled).count() == ROWS
    (before,) = children(spark, _MODULE)
    os.kill(before, signal.SIGKILL)
    assert read_topic(filled).count() == ROWS
    (after,) = children(spark, _MODULE)
    assert after != before


def test_a_stream_fails_with_its_killed_process_and_can_restart(
    spark: SparkSession, pulsar: LocalPulsar, filled: str, tmp_path: Path
) -> None:
    """The stream's reader ends with the process."""
    stream = spark.readStream.format("pulsar").option("service.url", pulsar.service_url)
    writer = stream.option("topic", filled).option("startingOffsets", "earliest").load().writeStream
    writer = writer.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    try:
        query.processAllAvailable()
        (before,) = children(spark, _MODULE)
        os.kill(before, signal.SIGKILL)
        with pytest.raises(StreamingQueryException) as caught:
            query.awaitTermination(60)
        said = str(caught.value)
        advice = "again" if "expected an answer of its process" in said else "restart the query"
        assert "expected an answer of its process" in said or "expected an open reader" in said
        assert advice in said
    finally:
        query.stop()
    again = writer.trigger(availableNow=True).start()
    assert again.awaitTermination(60)
    assert again.exception() is None


def test_the_error_names_why_the_process_does_not_start(
    spark: SparkSession, pulsar: LocalPulsar, filled: str, tmp_path: Path
) -> None:
    """The error appears when the process has ended, not when the time for its start is over."""
    interpreter = tmp_path / "python"
    interpreter.write_text(
        f'#!/bin/bash\nif [ "$2" = {_MODULE} ]; then echo "the disk is full" >&2; exit 7; fi\n'
        f'exec {sys.executable} "$@"\n'
    )
    interpreter.chmod(0o755)
    other = spark.newSession()
    # A session has this setting from its start; Spark does not allow changing it later.
    other._jsparkSession.sessionState().conf().setConfString("spark.pyspark.driver.python", str(interpreter))
    began = time.monotonic()
    with pytest.raises(AnalysisException) as caught:
        other.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", filled).load()
    assert time.monotonic() - began < 30
    said = str(caught.value)
    assert "exit code 7" in said
    assert "the disk is full" in said
    assert "60 seconds" not in said


# Brokers that do not answer


@pytest.fixture
def black_hole() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield BrokerAddress("127.0.0.1", listener.getsockname()[1])


def test_a_silent_broker_does_not_delay_users_of_others(
    pulsar: LocalPulsar, filled: str, black_hole: BrokerAddress
) -> None:
    given = {"service.url": pulsar.service_url}
    given["pulsar.client.connectionTimeoutMs"] = str(int(_CONNECT_SECONDS * 1000))
    options = parse_options(ConnectionOptions, given)
    (broker,) = parse_service_url(pulsar.service_url)
    with BrokerClient(options) as client, ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(client._connections.connection, black_hole) for _ in range(4)]
        began = time.monotonic()
        await_true(
            "a thread that connects",
            lambda: client._connections._lock.locked() or bool(client._connections._opening),
        )
        # The first call opens a connection, the second uses an open one.
        assert client._connections.connection(broker).is_open
        assert client.partition_count(TopicName.parse(filled)) == 0
        assert client.owner_connection(filled).is_open
        assert time.monotonic() - began < _CONNECT_SECONDS / 2
        for each in waiting:
            with pytest.raises(ConnectionFailed):
                each.result(30)
        assert time.monotonic() - began < 2 * _CONNECT_SECONDS


def test_several_silent_brokers_delay_no_longer_than_one(pulsar: LocalPulsar, filled: str) -> None:
    given = {"service.url": pulsar.service_url, "pulsar.client.connectionTimeoutMs": "2000"}
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
    try:
        with BrokerClient(parse_options(ConnectionOptions, given)) as client:
            client._owners._owners.update(
                {f"t{index}": BrokerAddress(*each.getsockname()) for index, each in enumerate(listeners)}
            )
            began = time.monotonic()
            found = client.owner_connections([*client._owners._owners, filled])
            assert time.monotonic() - began < 4
            assert [name for name, each in found.items() if isinstance(each, ConnectionFailed)] == [
                "t0", "t1", "t2", "t3",
            ]  # fmt: skip
            assert set(client._owners._owners) == {filled}
    finally:
        for each in listeners:
            each.close()


# Pipes


def test_a_checkpoint_process_that_does_not_read_its_pipe_is_ended(
    spark: SparkSession, pulsar: LocalPulsar
) -> None:
    """The process is stopped: a write to its pipe, which holds 64 KiB, would wait forever."""
    settings = catalog_settings(pulsar.service_url, catalog="ckpt", python=sys.executable)
    settings |= of_session(checkpoint_conf("ckpt", {}, None))
    jvm: Any = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    for key, value in settings.items():
        conf.set(key, value)
    path = jvm.org.apache.hadoop.fs.Path(location(new_name()))
    files = jvm.org.pysparkpulsar.checkpoint.PulsarCheckpointFileManager(path, conf)
    files.createCheckpointDirectory()
    known = children(spark, "pyspark_pulsar.checkpoint")
    assert known
    stream = files.createAtomic(jvm.org.apache.hadoop.fs.Path(path, "state"), True)
    stream.write(bytes(3 << 20))
    for process in known:
        os.kill(process, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(Py4JJavaError) as caught:
            stream.write(bytes(3 << 20))
        assert 25 < time.monotonic() - began < 60
    finally:
        for process in known:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    said = str(caught.value.java_exception)
    assert "it did not read a request within 30 seconds" in said
    # The next call starts another process.
    assert files.exists(path)
    assert children(spark, "pyspark_pulsar.checkpoint") != known
