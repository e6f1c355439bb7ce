"""Where closed ledgers of a content log lie, past the broker: bookies and tiered storage, as reads of topics find them.

Asked of the admin REST API where `admin.url` is given and `readFrom` is not `broker`. What is not told is read from the
broker.
"""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import Final

from pyspark_pulsar.checkpoint.clients import Cluster
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.location import EntryLocation
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import fetch_ledgers
from pyspark_pulsar.read.planning.placement.ledger_placement import find_placement

_log: Final = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 60.0
_PATIENCE_MS: Final = 5_000
_AUTO: Final = "auto"
_BROKER: Final = "broker"


class LedgerLocations:
    """Safe to use from several threads."""

    def __init__(self, cluster: Cluster, partition: TopicPartition) -> None:
        self._options = cluster.options_of(partition)
        self._partition = partition
        self._lock = Lock()
        self._known: dict[int, EntryLocation] = {}
        self._asked_at: dict[int, float] = {}

    @property
    def falls_back(self) -> bool:
        """Whether the broker is asked for what is not read from elsewhere: not where `readFrom` names a location."""
        return self._options.read_from in {_AUTO, _BROKER}

    def of(self, ledger: int) -> EntryLocation | None:
        """Of a closed ledger that can be read past the broker; None else. Where `readFrom` names a location, raises
        `LedgerUnavailable` for one that is not there, and what asking raises."""
        if self._options.admin_url is None or self._options.read_from == _BROKER:
            return None
        with self._lock:
            known = self._known.get(ledger)
            if known is not None:
                return known
            now = time.monotonic()
            if now - self._asked_at.get(ledger, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
                return None
            self._asked_at[ledger] = now
            try:
                known = self._find(ledger)
            except PulsarError as fault:
                if not self.falls_back:
                    del self._asked_at[ledger]
                    raise
                _log.info(
                    "%s, ledger %d: where it lies is not known, so the broker is asked: %s",
                    self._partition,
                    ledger,
                    fault,
                )
                return None
            if known is not None:
                self._known[ledger] = known
            return known

    def forget(self, ledger: int) -> None:
        """It could not be read from there: for a while the broker is asked."""
        with self._lock:
            self._known.pop(ledger, None)

    def _find(self, ledger: int) -> EntryLocation | None:
        with AdminClient(self._options, patience_ms=_PATIENCE_MS) as admin:
            known = fetch_ledgers(admin, [self._partition])[self._partition]
            closed = known.by_id().get(ledger)
            if closed is None or closed.is_open:
                return None
            placement, ledgers = find_placement(self._options, admin, {self._partition: (known, {ledger})})
            location = placement.of(self._partition, ledgers[self._partition].by_id()[ledger])
        return None if location.is_broker else location
