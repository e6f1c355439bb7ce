"""Shared parts of the tests against a real server, besides `fixtures`: the references to compare with."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pulsar as official_client
import pytest
from integration.official import Admin, JavaClient, Refused, end_of_client_log, python_client
from integration.streams import Stream
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the log of the official client to the report of a failed test."""
    report = yield
    if report.failed and (log := end_of_client_log()):
        report.sections.append(("The official client's log", log))
    return report


@pytest.fixture(scope="session")
def official(pulsar: LocalPulsar) -> Iterator[official_client.Client]:
    """The official Python client."""
    with python_client(pulsar.service_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def java_client(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar)


@pytest.fixture(scope="session")
def admin(pulsar: LocalPulsar) -> Admin:
    return Admin(pulsar.admin_url)


@pytest.fixture
def filled(topic: str, official: official_client.Client) -> str:
    """A plain topic with ten messages."""
    producer = official.create_producer(topic)
    for number in range(10):
        producer.send(str(number).encode())
    producer.close()
    return topic


@pytest.fixture
def stream(spark: SparkSession, pulsar: LocalPulsar) -> Stream:
    """`stream(**options)`: a streaming DataFrame."""

    def read(**options: str) -> DataFrame:
        return (
            spark.readStream.format("pulsar")
            .option("service.url", pulsar.service_url)
            .options(**options)
            .load()
        )

    return read


@pytest.fixture
def refused(spark: SparkSession) -> Refused:
    """`refused(action, kind)`: the text with which `action` fails before any task ran; names `kind`."""
    tracker = spark.sparkContext.statusTracker()

    def check(action: Callable[[], Any], kind: str) -> str:
        group = f"refused-{time.monotonic_ns()}"
        spark.sparkContext.setJobGroup(group, "must not start")
        try:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark wraps what Python raises
                action()
        finally:
            spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        text = str(caught.value)
        assert kind in text, text
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            stages = [] if info is None else [tracker.getStageInfo(each) for each in info.stageIds]
            assert not any(
                stage.numActiveTasks + stage.numCompletedTasks + stage.numFailedTasks
                for stage in stages
                if stage
            )
        return text

    return check
