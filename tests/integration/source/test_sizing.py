"""Results of `pyspark-pulsar size`, compared with real reads."""

from __future__ import annotations

import json
import os
import uuid

import pytest
from click.testing import CliRunner
from fixtures.process_cpu import cpu_seconds_below
from integration.official import Admin
from pyspark.sql import SparkSession

from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.options.parsers import topic_text
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.sizing.calibration import measure_costs
from pyspark_pulsar.tools.sizing.costs import costs_here
from pyspark_pulsar.tools.sizing.estimate import estimate
from pyspark_pulsar.tools.sizing.own_topic import sample_topic
from pyspark_pulsar.tools.sizing.workload import Workload
from pyspark_pulsar.tools.standalone import LocalPulsar

ROWS = 1_500_000
FACTOR = 4.0
"""Allowed factor between measured and predicted CPU time.

The CPU time of Spark's JVM depends on what its compiler has seen before, and on the machine's other work."""


@pytest.fixture(scope="module")
def written(spark: SparkSession, pulsar: LocalPulsar) -> str:
    """Return a topic of Avro messages with eight columns, in entries of up to 1000."""
    topic = f"persistent://public/default/written-{uuid.uuid4().hex[:12]}"
    columns = [
        *(f"cast(rand({n}) * 1e12 as bigint) AS n{n}" for n in range(4)),
        *(f"substr(sha2(cast(rand({n}) as string), 256), 1, 12) AS t{n}" for n in range(4)),
    ]
    rows = spark.range(0, ROWS, 1, 2).selectExpr(*columns)
    rows.write.format("pulsar").mode("append").options(
        **{"service.url": pulsar.service_url, "topic": topic}
    ).save()
    return topic


def test_the_predicted_cpu_of_a_batch_is_close(
    written: str, spark: SparkSession, pulsar: LocalPulsar
) -> None:
    told = {"service.url": pulsar.service_url, "topic": topic_text(written)}
    sample = sample_topic(parse_options(ReadOptions, told), seconds=1.0)
    workload = Workload(
        topics=1,
        messages_a_day=ROWS,
        message_bytes=sample.message_bytes,
        entry_messages=sample.entry_messages,
        format=sample.format,
        columns=8,
        days=1,
    )
    foretold = estimate(workload, costs_here(measure_costs(8.0))).figures()["CPU to read the history"].value

    def read() -> None:
        frame = spark.read.format("pulsar").options(**told).load()
        values = [name for name in frame.columns if not name.startswith("__")]
        frame.select(*values).write.format("noop").mode("overwrite").save()

    server = pulsar.status().pid
    took = []
    for _ in range(4):
        before = cpu_seconds_below(os.getpid(), without=server)
        read()
        took.append(cpu_seconds_below(os.getpid(), without=server) - before)
    # The first read starts workers, and the JVM compiles in it.
    measured = min(took[1:])
    print(f"foretold {foretold:.2f} s of CPU, measured {took}")  # noqa: T201 - shown when it fails
    assert measured / FACTOR < foretold < measured * FACTOR


def test_a_sample_of_a_topic_measures_its_messages(written: str, pulsar: LocalPulsar) -> None:
    """Sample a topic like `size --topic`."""
    sample = sample_topic(
        parse_options(ReadOptions, {"service.url": pulsar.service_url, "topic": topic_text(written)}),
        # The sample covers the whole topic, however slow the machine is.
        seconds=300.0,
    )
    assert (sample.format, sample.messages) == ("AVRO", ROWS)
    assert sample.columns == 8 + 6
    assert 500 < sample.entry_messages <= 1000
    # Four longs of up to 6 bytes, four texts of 12 with their lengths, and 3 to 5 bytes between messages.
    assert 60 < sample.message_bytes < 100
    assert sample.message_cpu is not None
    assert 0 < sample.message_cpu < 1e-4
    result = CliRunner().invoke(
        cli,
        ["size", "--topics", "1", "--messages-a-day", "1M", "--topic", written, "--service-url", pulsar.service_url,
         "--json"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    assert made["given"]["messages an entry"]["value"] == pytest.approx(sample.entry_messages)
    assert made["costs"]["topic.message"]["from"] == "measured on this machine"


def test_a_sample_of_few_messages_measures_only_their_size(filled: str, pulsar: LocalPulsar) -> None:
    sample = sample_topic(
        parse_options(ReadOptions, {"service.url": pulsar.service_url, "topic": topic_text(filled)})
    )
    assert (sample.format, sample.messages, sample.message_cpu) == ("BYTES", 10, None)


def test_a_topic_without_messages_cannot_be_measured(topic: str, pulsar: LocalPulsar, admin: Admin) -> None:
    admin.create(topic)
    result = CliRunner().invoke(
        cli,
        [
            "size",
            "--topics",
            "1",
            "--messages-a-day",
            "1M",
            "--topic",
            topic,
            "--service-url",
            pulsar.service_url,
        ],
    )
    assert "expected messages to measure" in str(result.exception)
