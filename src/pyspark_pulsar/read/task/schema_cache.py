"""The registry's documents that this worker process has asked for. Executor only.

A version is a number of its topic. It never changes, but a topic that is deleted and made again counts its versions
anew. So the documents are kept by the schemas that the query was planned with as well: after such a change those are
others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.topic import TopicName

_MOST: Final = 10_000
_MOST_BYTES: Final = 32 * 1024 * 1024

FetchSchema = Callable[[TopicName, bytes], SchemaInfo | None]


class SchemaVersions:
    """Thread safe. Asks once for each version that is there; keeps the last used, at most 10,000 and of 32 MiB, so that
    a stream of thousands of topics does not ask for each again in each micro-batch."""

    def __init__(self, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, SchemaInfo] = OrderedDict()
        self._bytes = 0

    def fetch(
        self, service_url: str, topic: TopicName, planned: Hashable, version: bytes, ask: FetchSchema
    ) -> SchemaInfo | None:
        """The registry's schema of `topic` under `version`; None when it has none, which is not remembered.

        `planned` stands for the schemas that the query was planned with. `ask` is called with the lock held, so that a
        version that two threads want is asked for once; what it raises is raised.
        """
        key = (service_url, topic, planned, version)
        with self._lock:
            info = self._known.get(key)
            if info is None:
                info = ask(topic, version)
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
