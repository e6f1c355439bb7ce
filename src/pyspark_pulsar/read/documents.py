"""The registry's documents that this worker process has asked for. Executor only.

A version never changes, but a topic that is deleted and made again counts its versions anew. So the documents are
kept by the schema that the query was planned with as well: after such a change that is another one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.topic import TopicName

_MOST: Final = 1_000

Ask = Callable[[TopicName, bytes], SchemaInfo | None]


class SchemaVersions:
    """Thread safe. Asks once for each version that is there; keeps the 1000 last used."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, SchemaInfo] = OrderedDict()

    def fetch(
        self, service_url: str, topic: TopicName, planned: SchemaInfo | None, version: bytes, ask: Ask
    ) -> SchemaInfo | None:
        """The registry's schema of `topic` under `version`; None when it has none, which is not remembered.

        `planned` is the schema that the query was planned with. `ask` is called with the lock held, so that a
        version that two threads want is asked for once; what it raises is raised.
        """
        key = (service_url, topic, planned, version)
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = ask(topic, version)
            if found is not None:
                self._known[key] = found
                self._known.move_to_end(key)
                if len(self._known) > self._most:
                    self._known.popitem(last=False)
            return found


SCHEMA_VERSIONS: Final = SchemaVersions()
"""Of this process."""
