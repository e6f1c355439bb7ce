"""A server with short ledgers and no retention, which deletes unneeded messages immediately."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from integration.checkpoint.store_process import StoreProcess
from integration.official import Admin

from pyspark_pulsar.tools.standalone import LocalPulsar

ENTRIES = 40
"""The number of entries in a ledger."""


@pytest.fixture(scope="package")
def short_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    config = {
        "managedLedgerMaxEntriesPerLedger": str(ENTRIES),
        "managedLedgerMinLedgerRolloverTimeMinutes": "0",
        "defaultRetentionTimeInMinutes": "0",
        "defaultRetentionSizeInMB": "0",
    }
    with LocalPulsar(data=tmp_path_factory.mktemp("checkpoints"), config=config) as server:
        yield server


@pytest.fixture(scope="package")
def short_admin(short_ledgers: LocalPulsar) -> Admin:
    return Admin(short_ledgers.admin_url)


class Store:
    """Called, it starts another process of the store."""

    def __init__(self, service_url: str) -> None:
        self._service_url = service_url
        self._started: list[StoreProcess] = []

    def __call__(self, **settings: str) -> StoreProcess:
        process = StoreProcess(**{"service.url": self._service_url, **settings})
        self._started.append(process)
        return process

    def kill_all(self) -> None:
        for process in self._started:
            if process.process.poll() is None:
                process.kill()


@pytest.fixture
def store(short_ledgers: LocalPulsar) -> Iterator[Store]:
    """Return the store, whose processes end with the test."""
    store = Store(short_ledgers.service_url)
    yield store
    store.kill_all()


@pytest.fixture
def place() -> str:
    """A checkpoint that no other test uses."""
    return f"pulsar+checkpoint://public/default/c-{uuid.uuid4().hex[:12]}"


def topic_of(place: str, log: str) -> str:
    return f"persistent://{place.removeprefix('pulsar+checkpoint://')}-{log}"
