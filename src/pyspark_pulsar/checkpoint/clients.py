"""The Pulsar clients that all checkpoints of one process share."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Self

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions, WriteOptions, option_fields, parse_options
from pyspark_pulsar.runtime import threading

CALL_SECONDS: Final = 100.0
"""The maximum duration of a call in seconds, including retries while brokers restart or the network is down."""

_OF_THE_CATALOG: Final = frozenset({"defaultnamespace", "tenants", "systemtopics"})
_ANY_TOPIC: Final = "any"
_IDLE_CLIENTS: Final = 8


@dataclass(frozen=True)
class ClusterSettings:
    """The read options for all topics of one cluster. `options.topic` is a placeholder."""

    options: ReadOptions

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """Parse the settings of a catalog.

        Args:
            given: The settings, with keys without the prefix `spark.sql.catalog.<name>.`. Settings for writing, or for
                the catalog's listings, are ignored.

        Raises:
            OptionError: A setting is unknown or has a wrong value.

        """
        reading, writing = _keys(ReadOptions), _keys(WriteOptions)
        known = reading | writing | _OF_THE_CATALOG
        for key in given:
            if key.lower() not in known:
                close = difflib.get_close_matches(key.lower(), sorted(known), n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise OptionError(f"unknown setting {key!r} of the catalog{hint}")
        texts = {key: str(text) for key, text in given.items() if key.lower() in reading}
        texts = {key: text for key, text in texts.items() if key.lower() not in _OF_A_TABLE}
        return cls(parse_options(ReadOptions, {**texts, "topic": _ANY_TOPIC}))


class Cluster:
    """A pool of clients of one cluster. Threads may share the pool. The caller closes the pool."""

    def __init__(self, settings: ClusterSettings) -> None:
        """Check the options; the first use opens the connections. Raises `OptionError`."""
        self.options = settings.options
        self._idle: list[BrokerClient] = []
        self._lock = threading.Lock()
        with self.borrowed():
            pass

    def new_client(self) -> BrokerClient:
        """Return a client with its own connections, for one thread. The caller closes the client."""
        return BrokerClient(self.options, patience_ms=round(CALL_SECONDS * 1000))

    @contextmanager
    def borrowed(self) -> Iterator[BrokerClient]:
        """Yield a client that no other thread uses until the block ends."""
        with self._lock:
            client = self._idle.pop() if self._idle else None
        client = client or self.new_client()
        try:
            yield client
        finally:
            with self._lock:
                kept = len(self._idle) < _IDLE_CLIENTS
                if kept:
                    self._idle.append(client)
            if not kept:
                client.close()

    def partition(self, topic: TopicName, *, create: bool = False) -> TopicPartition | None:
        """Return the only partition of a topic, or None if the topic does not exist.

        The index of the partition is 0 for a partitioned topic, and -1 for any other topic. With `create`, create the
        topic if it does not exist.
        """
        with self.borrowed() as client:
            count = client.present_partitions([topic], create=create)[topic]
        if count is None:
            return None
        return TopicPartition(topic, 0 if count else -1)

    def options_of(self, partition: TopicPartition) -> ReadOptions:
        """Return the read options with the partition's topic."""
        return replace(self.options, topic=str(partition.topic))

    def close(self) -> None:
        """Close the idle clients."""
        with self._lock:
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()


def _keys(scope: type[ReadOptions | WriteOptions]) -> frozenset[str]:
    return frozenset(
        key.lower() for option in option_fields(scope).values() for key in (option.key, *option.aliases)
    )


_OF_A_TABLE: Final = frozenset(
    key.lower()
    for name, option in option_fields(ReadOptions).items()
    if name in {"topic", "topics", "topics_pattern", "columns"}
    for key in (option.key, *option.aliases)
)
