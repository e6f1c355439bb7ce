"""Schema documents that this worker process has fetched from the registry. Executor only.

A version is a number that counts the schemas of one topic. A topic that is deleted and made again counts from 0 again,
perhaps with the same latest schema. Brokers do not tell two such topics apart in any answer that every role may have,
but their ledgers do: a cluster never uses the id of a ledger twice, so a ledger belongs to one incarnation of a topic.
All entries that a split reads lie in the ledger of its end or before it, and its end is behind an entry that exists. So
documents are kept by that ledger (`Incarnation`). After a rollover each version is fetched once more.

Documents are also kept by who asks, because a role may not see what another role has fetched, and by the schemas that
the query was planned with, because `NO_VERSION` stands for the latest one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import SchemaInfo

_MOST: Final = 10_000
_MOST_BYTES: Final = 32 * 1024 * 1024

FetchSchema = Callable[[TopicName, bytes], SchemaInfo | None]


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A topic between its creation and its deletion, as one role sees it."""

    asker: Hashable = field(repr=False)
    """`ConnectionOptions.identity`."""
    topic: TopicName
    """Without a partition's suffix: the partitions of a topic share its schemas."""
    ledger: int
    """The ledger in which the split ends."""
    planned: Hashable
    """The schemas that the query was planned with."""


class SchemaVersions:
    """Thread safe. Asks once for each version that is there; keeps the last used, at most 10,000 and of 32 MiB, so that
    a stream of thousands of topics does not ask for each again in each micro-batch."""

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, SchemaInfo] = OrderedDict()
        self._bytes = 0

    def fetch(self, incarnation: Incarnation, version: bytes, ask: FetchSchema) -> SchemaInfo | None:
        """Return the registry's schema under `version`; None when it has none, which is not remembered.

        `ask` is called with the lock held, so that a version that two threads want is asked for once; what it raises is
        raised.
        """
        key = (incarnation, version)
        with self._lock:
            info = self._known.get(key)
            if info is None:
                info = ask(incarnation.topic, version)
                if info is None:
                    return None
                self._known[key] = info
                self._bytes += len(info.document)
            self._known.move_to_end(key)
            while len(self._known) > self._most or (self._bytes > self._most_bytes and len(self._known) > 1):
                self._bytes -= len(self._known.popitem(last=False)[1].document)
            return info


SCHEMA_VERSIONS: Final = SchemaVersions()
"""Of this process."""
