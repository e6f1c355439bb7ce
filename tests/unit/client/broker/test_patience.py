"""The time for which a client tries again: short for an unreachable address, longer for a broker that
answers.
"""

import time
from collections.abc import Callable

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.server_error import NotReady
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.options import ConnectionOptions

AWAY_SECONDS = 0.6


def fails_for_a_while(*faults: ConnectionFailed) -> Callable[[], str]:
    """Return an attempt that fails with one fault after the other, and then with the last one, for a while."""
    began = time.monotonic()
    left = list(faults)

    def attempt() -> str:
        if time.monotonic() - began < AWAY_SECONDS:
            raise left.pop(0) if len(left) > 1 else left[0]
        return "an answer"

    return attempt


def fails(fault: ConnectionFailed) -> Callable[[], str]:
    def attempt() -> str:
        raise fault

    return attempt


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> BrokerClient:
    monkeypatch.setattr("pyspark_pulsar.client.broker.client._PLANNING_PATIENCE_MS", 100)
    return BrokerClient.for_planning(ConnectionOptions(service_url="pulsar://localhost:1"))


def test_planning_gives_up_an_address_at_which_no_broker_answers(planning: BrokerClient) -> None:
    with pytest.raises(ConnectionFailed, match="nobody there"):
        planning.retrying(fails(ConnectionFailed("nobody there")))


def test_planning_waits_for_a_broker_that_is_not_ready(planning: BrokerClient) -> None:
    assert planning.retrying(fails_for_a_while(NotReady("session expired"))) == "an answer"
    restarted = NotReady("session expired"), ConnectionFailed("nobody there")
    assert planning.retrying(fails_for_a_while(*restarted)) == "an answer"
    assert (
        planning.with_own_connections().retrying(fails_for_a_while(NotReady("session expired")))
        == "an answer"
    )


def test_an_explicit_timeout_limits_the_retries(planning: BrokerClient) -> None:
    with pytest.raises(NotReady):
        planning.retrying(fails(NotReady("session expired")), patience_seconds=0.1)


@pytest.mark.parametrize("patience_seconds", [None, 60.0])
def test_nothing_is_tried_again_beyond_the_time_of_a_block(patience_seconds: float | None) -> None:
    """The time of an outer block is a limit as well."""
    client = BrokerClient(ConnectionOptions(service_url="pulsar://localhost:1"))
    began, tries = time.monotonic(), 0

    def attempt() -> None:
        nonlocal tries
        tries += 1
        raise ConnectionFailed("nobody there")

    with client.until(began + 0.2), client.until(began + 60), pytest.raises(ConnectionFailed, match="nobody"):
        client.retrying(attempt, patience_seconds)
    assert time.monotonic() - began < 20
    with pytest.raises(ConnectionFailed, match="nobody"):
        client.retrying(attempt, 0.3)
    assert tries > 1
