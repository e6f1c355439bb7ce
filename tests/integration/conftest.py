"""What the tests against a real server share besides `fixtures`: the references to compare with."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator

import pulsar as official_client
import pytest
from integration.official import Admin, JavaClient

from pyspark_pulsar.standalone import LocalPulsar


@pytest.fixture(scope="session")
def official(pulsar: LocalPulsar) -> Iterator[official_client.Client]:
    """The official Python client."""
    logger = official_client.ConsoleLogger(official_client.LoggerLevel.Error)
    client = official_client.Client(pulsar.service_url, logger=logger)
    yield client
    client.close()


@pytest.fixture(scope="session")
def java_client(pulsar: LocalPulsar) -> JavaClient:
    return JavaClient(pulsar)


@pytest.fixture(scope="session")
def admin(pulsar: LocalPulsar) -> Admin:
    return Admin(pulsar.admin_url)


@pytest.fixture
def rng() -> random.Random:
    """Random numbers from a fresh seed, which pytest shows when the test fails."""
    seed = secrets.randbits(32)
    print(f"random seed: {seed}")  # noqa: T201
    return random.Random(seed)
