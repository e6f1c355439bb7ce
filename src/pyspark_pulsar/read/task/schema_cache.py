"""Schema documents that this worker process has fetched from the registry. Executor only.

A version is a number that counts the schemas of one topic. If a topic is deleted and created again, its versions begin
at 0 again, perhaps with the same latest schema. No answer that every role may request distinguishes two such topics.
But their ledgers distinguish them: a cluster never uses the id of a ledger twice, so a ledger belongs to one
incarnation of a topic. All entries of a split are in the ledger of the split's end or in an earlier ledger. The end is
after an existing entry. So the ledger of the end is part of the cache key (`Incarnation`). After a rollover, each
version is fetched once more.

The role is also part of the key, because a role may not see documents that another role has fetched. The schemas with
which the query was planned are part of the key, too, because `NO_VERSION` means the latest of these schemas.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.runtime import threading
from pyspark_pulsar.schema.info import SchemaInfo

_MOST: Final = 10_000
_MOST_BYTES: Final = 32 * 1024 * 1024

FetchSchema = Callable[[TopicName, bytes], SchemaInfo | None]


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A topic between its creation and its deletion, as one role sees it."""

    identity: Hashable = field(repr=False)
    """The identity of the role and the cluster (`ConnectionOptions.identity`)."""
    topic: TopicName
    """The topic, without the suffix of a partition, because all partitions of a topic share its schemas."""
    ledger: int
    """The ledger in which the split ends."""
    planned: Hashable
    """The schemas with which the query was planned."""


class SchemaVersions:
    """A cache of schema versions, which requests each existing version once. Safe to use from several threads.

    The cache contains the versions that were used last: at most 10,000 versions and 32 MiB. So a stream of thousands of
    topics does not request each version again in each micro-batch.
    """

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, SchemaInfo] = OrderedDict()
        self._bytes = 0

    def fetch(self, incarnation: Incarnation, version: bytes, request: FetchSchema) -> SchemaInfo | None:
        """Return the registry's schema under `version`, or None if there is no such version.

        Only existing schemas are cached.

        `request` is called while the lock is held, so that two threads request a version only once. Errors of
        `request` are raised.
        """
        key = (incarnation, version)
        with self._lock:
            info = self._known.get(key)
            if info is None:
                info = request(incarnation.topic, version)
                if info is None:
                    return None
                self._known[key] = info
                self._bytes += len(info.document)
            self._known.move_to_end(key)
            while len(self._known) > self._most or (self._bytes > self._most_bytes and len(self._known) > 1):
                self._bytes -= len(self._known.popitem(last=False)[1].document)
            return info


SCHEMA_VERSIONS: Final = SchemaVersions()
"""The cache of this process."""
