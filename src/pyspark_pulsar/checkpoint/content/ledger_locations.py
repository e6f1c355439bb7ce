"""Locations of a content log's closed ledgers in bookies and tiered storage.

A location is searched with the same functions that plan the reads of topics (`read.planning`). The search needs
`admin.url`, and a `readFrom` other than `broker`. A ledger without a location is read from the broker.
"""

from __future__ import annotations

import logging
from typing import Final

from pyspark_pulsar.checkpoint.clients import Cluster
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import EntryLocation
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers
from pyspark_pulsar.read.planning.placement.ledger_placement import find_placement
from pyspark_pulsar.runtime import threading, time

_log: Final = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 60.0
_ADMIN_TIMEOUT_MS: Final = 5_000
_AUTO: Final = "auto"
_BROKER: Final = "broker"


class LedgerLocations:
    """A cache of the locations of one partition's closed ledgers. Threads may share the cache."""

    def __init__(self, cluster: Cluster, partition: TopicPartition) -> None:
        self._options = cluster.options_of(partition)
        self._partition = partition
        self._lock = threading.Lock()
        self._known: dict[int, EntryLocation] = {}
        self._requested_at: dict[int, float] = {}

    @property
    def falls_back(self) -> bool:
        """Return True if chunks are read from the broker after another location failed.

        Return False if `readFrom` names a location other than the broker.
        """
        return self._options.read_from in {_AUTO, _BROKER}

    def find_location(self, ledger: int) -> EntryLocation | None:
        """Return the location of a closed ledger, or None if the ledger must be read from the broker.

        Raises:
            LedgerUnavailable: The ledger is not at the location that `readFrom` names.
            PulsarError: A request failed, and `readFrom` names a location other than the broker.

        """
        if self._options.admin_url is None or self._options.read_from == _BROKER:
            return None
        with self._lock:
            known = self._known.get(ledger)
            if known is not None:
                return known
            now = time.monotonic()
            if now - self._requested_at.get(ledger, -_RETRY_SECONDS) < _RETRY_SECONDS:
                return None
            self._requested_at[ledger] = now
            try:
                known = self._find(ledger)
            except PulsarError as fault:
                if not self.falls_back:
                    del self._requested_at[ledger]
                    raise
                _log.info(
                    "Reading from the broker, because finding the location failed (%s): %s, ledger %d",
                    fault,
                    self._partition,
                    ledger,
                )
                return None
            if known is not None:
                self._known[ledger] = known
            return known

    def forget(self, ledger: int) -> None:
        """Drop the location of a ledger after a failed read.

        Until `_RETRY_SECONDS` after the last search for this location, the ledger is read from the broker.
        """
        with self._lock:
            self._known.pop(ledger, None)

    def _find(self, ledger: int) -> EntryLocation | None:
        with AdminClient(self._options, patience_ms=_ADMIN_TIMEOUT_MS) as admin:
            known = fetch_ledgers(admin, [self._partition])[self._partition]
            closed = known.by_id().get(ledger)
            if closed is None or closed.is_open:
                return None
            placement, ledgers = find_placement(self._options, admin, {self._partition: (known, {ledger})})
            location = placement.location_of(self._partition, ledgers[self._partition].by_id()[ledger])
        return None if location.is_broker else location
