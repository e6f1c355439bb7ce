"""The pool of clients; a client connects at its first request, so none of these tests reaches a broker."""

from __future__ import annotations

import time

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import ClientPool
from pyspark_pulsar.options import ReadOptions, WriteOptions

_URL = "pulsar://localhost:6650"


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[BrokerClient]:
    """The clients that were closed."""
    clients: list[BrokerClient] = []
    monkeypatch.setattr(BrokerClient, "close", lambda client: clients.append(client))  # noqa: PLW0108 -- bound
    return clients


def test_a_client_is_reused_for_settings_with_the_same_brokers(closed: list[BrokerClient]) -> None:
    pool = ClientPool(60)
    with pool.client(ReadOptions(service_url=_URL, topic="a")) as first:
        pass
    with pool.client(WriteOptions(service_url=_URL, topic="b")) as again:
        assert again is first
    with pool.client(ReadOptions(service_url=_URL, topic="a", operation_timeout_ms=1)) as other:
        assert other is not first
    assert closed == []


def test_two_at_a_time_have_one_each() -> None:
    pool = ClientPool(60)
    options = ReadOptions(service_url=_URL, topic="a")
    with pool.client(options) as first, pool.client(options) as second:
        assert first is not second
    with pool.client(options) as third:
        assert third is first  # It was given back last.


def test_a_client_whose_use_failed_is_closed(closed: list[BrokerClient]) -> None:
    pool = ClientPool(60)
    options = ReadOptions(service_url=_URL, topic="a")
    with pytest.raises(KeyError), pool.client(options) as first:
        raise KeyError
    assert closed == [first]
    with pool.client(options) as second:
        assert second is not first


def test_what_has_something_open_is_closed(
    closed: list[BrokerClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = ClientPool(60)
    options = ReadOptions(service_url=_URL, topic="a")
    with pool.client(options) as first:
        monkeypatch.setattr(BrokerClient, "has_open_ends", True)
    assert closed == [first]


def test_an_idle_client_is_closed_in_time(closed: list[BrokerClient]) -> None:
    pool = ClientPool(0.05)
    for topic in ("a", "b"):
        options = ReadOptions(service_url=_URL, topic=topic)
        with pool.client(options) as client:
            pass
        deadline = time.monotonic() + 10
        while closed[-1:] != [client]:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    # The thread ends with the last client, and the next client starts another thread.
    while pool._closer is not None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
