"""Where else the entries of an offloaded ledger may be, when its copy in tiered storage fails. Executor only.

Bookies may hold the ledger for hours after it was offloaded, and nobody tells whether they still do. They are asked
before the broker: where brokers read tiered storage first, they read the copy that has failed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.ledger_metadata import parse_ledger_metadata
from pyspark_pulsar.client.broker.transport import EntryBatch
from pyspark_pulsar.errors import DamagedCopy, PulsarError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import Position
from pyspark_pulsar.read.sources.contiguous import entry_range
from pyspark_pulsar.read.sources.offloaded import tiered_entries
from pyspark_pulsar.read.split import FromBookies, FromTieredStorage, SplitRange
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)

_PATIENCE_MS: Final = 2_000


def on_bookies(
    options: ReadOptions, partition: TopicPartition, split_range: SplitRange
) -> FromBookies | None:
    """How to ask bookies for what was planned to be read from tiered storage; None where nobody tells which bookies
    there are."""
    if not isinstance(split_range.location, FromTieredStorage) or options.admin_url is None:
        return None
    patience = min(options.operation_timeout_ms, _PATIENCE_MS)
    with AdminClient(options, patience_ms=patience) as admin:
        for find in (admin.bookies.ids, lambda: _bookies_of_topic(admin, partition)):
            try:
                bookies = find()
            except PulsarError as fault:
                _log.info("%s: which bookies there are is not known: %s", partition, fault)
                continue
            if bookies:
                return FromBookies(split_range.location.ledger, bookies)
    return None


def _bookies_of_topic(admin: AdminClient, partition: TopicPartition) -> tuple[str, ...]:
    """Those that the other ledgers of the topic partition lie on: what who is no superuser may ask for."""
    stats = admin.topics.internal_stats(partition, metadata=True)
    texts = (each.get("metadata") for each in stats.get("ledgers", ()) if isinstance(each, dict))
    found = (parse_ledger_metadata(text) for text in texts if isinstance(text, str))
    return tuple(
        sorted(
            {
                bookie
                for striping in found
                if striping
                for each in striping.ensembles
                for bookie in each.bookies
            }
        )
    )


class Given:
    """Which entries of a piece the broker gave in place of a copy that is damaged.

    A broker that reads the same copy passes in silence over an entry whose metadata is damaged, as it does over those
    that consumers do not see. So what it passes over must be read from the copy, which checks every byte.
    """

    def __init__(self, split_range: SplitRange) -> None:
        self._split_range = split_range
        self._runs: list[tuple[int, int, bool]] = []

    def take(self, entries: EntryBatch) -> None:
        """Entries of the piece, in order."""
        first, last = entries.first, entries.last
        if first is not None and last is not None:
            self._runs.append((first[1], last[1], last[1] - first[1] + 1 == len(entries)))

    def check(self, partition: TopicPartition) -> None:
        """Raises `DamagedCopy` for an entry that neither gives, and what else the copy does not let one read."""
        location = self._split_range.location
        if not isinstance(location, FromTieredStorage):
            return
        number = location.ledger.id
        for first, last in passed_over(entry_range(self._split_range, location.ledger), self._runs):
            part = SplitRange(Position(number, first), Position(number, last + 1), location)
            try:
                for _ in tiered_entries(partition, part, location):
                    pass
            except DamagedCopy as fault:
                raise DamagedCopy(
                    f"{fault}. The broker was asked instead, and has passed over it as well"
                ) from None


def passed_over(wanted: tuple[int, int], runs: Iterable[tuple[int, int, bool]]) -> Iterator[tuple[int, int]]:
    """First and last entry of what `runs` (first, last, whether all between them came) leave open of `wanted`."""
    expected, end = wanted
    for first, last, is_whole in runs:
        if first > expected or not is_whole:
            yield min(first, expected), (first - 1 if is_whole else last)
        expected = last + 1
    if expected <= end:
        yield expected, end
