"""The owner of a checkpoint: drivers of two applications on one checkpoint, and applications that only read
it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pulsar as official_client
from integration.checkpoint.checkpoints import (
    PROVIDERS,
    SECONDS,
    Program,
    faults,
    location,
    new_name,
    of_session,
    send_numbers,
)
from integration.official import Admin, JavaClient, await_true
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

from pyspark_pulsar.session.checkpoints import checkpoint_conf
from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.standalone import LocalPulsar

_ROWS = 200


def test_a_second_driver_takes_over_and_a_reader_does_not(
    spark: SparkSession,
    pulsar: LocalPulsar,
    topic: str,
    official: official_client.Client,
    admin: Admin,
    java_client: JavaClient,
    tmp_path: Path,
) -> None:
    sink, name = f"{topic}-counts", new_name()
    admin.create(topic)
    admin.create(sink)
    setting = {
        "cluster": {"service.url": pulsar.service_url},
        "queries": [
            {
                "checkpoint": location(name),
                "conf": PROVIDERS["rocksdb-2"],
                "source": {"service.url": pulsar.service_url, "topic": topic, "startingOffsets": "earliest"},
                "sink": {"service.url": pulsar.service_url, "topic": sink},
            }
        ],
    }
    first, second = Program(tmp_path, setting), Program(tmp_path, setting)

    def counted() -> int:
        return len(written(java_client, sink))

    try:
        send_numbers(official, topic, range(_ROWS))
        first.start()
        await_true(
            "the first driver counts", lambda: counted() == _ROWS or first.has_ended(), seconds=SECONDS
        )
        # Another application reads the live query's state, and the query continues.
        await_true("the state is there", lambda: state_of(spark, pulsar, name) == _ROWS)
        send_numbers(official, topic, range(2 * _ROWS))
        await_true("it goes on", lambda: counted() == 2 * _ROWS or first.has_ended(), seconds=SECONDS)
        assert not first.has_ended(), first.end_of_log()
        second.start()
        second.await_started()
        send_numbers(official, topic, range(3 * _ROWS))
        assert first.wait() != 0
        # By the checkpoint, or by Spark where it sees the other's file of the same micro-batch first.
        assert re.search("has taken the checkpoint over|CONCURRENT_STREAM_LOG_UPDATE", first.log_text()), (
            first.end_of_log()
        )
        await_true(
            "the second goes on", lambda: counted() == 3 * _ROWS or second.has_ended(), seconds=SECONDS
        )
        assert not second.has_ended(), second.end_of_log()
        # The sink's rows are there before the micro-batch is committed.
        await_true("the state is that of all", lambda: state_of(spark, pulsar, name) == 3 * _ROWS)
    finally:
        first.kill()
        second.kill()
    assert faults(written(java_client, sink), 3 * _ROWS) == []


def written(java_client: JavaClient, sink: str) -> list[dict[str, Any]]:
    return [json.loads(row["value"]) for row in java_client.read(sink, "STRING")]


def state_of(spark: SparkSession, pulsar: LocalPulsar, name: str) -> int:
    """Return the number of numbers that the state has counted."""
    catalog = catalog_settings(pulsar.service_url, catalog="readers", python=sys.executable)
    settings = catalog | of_session(checkpoint_conf("readers", {}, None)) | PROVIDERS["rocksdb-2"]
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        state = spark.read.format("statestore").load(location(name))
        return state.count()
    except SparkRuntimeException as fault:
        # The sink's rows are there a moment before Spark has committed its first micro-batch.
        if "STDS_COMMITTED_BATCH_UNAVAILABLE" not in str(fault):
            raise
        return 0
    finally:
        for key in settings:
            spark.conf.unset(key)
