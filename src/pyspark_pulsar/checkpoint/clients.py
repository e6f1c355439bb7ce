"""How the checkpoints of one process reach Pulsar."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, Self

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions, WriteOptions, option_fields, parse_options

CALL_SECONDS: Final = 100.0
"""How long a call may take, whatever goes wrong meanwhile: brokers that start again, a network that is gone."""

_OF_THE_CATALOG: Final = frozenset({"defaultnamespace", "tenants", "systemtopics"})
_ANY_TOPIC: Final = "any"
_IDLE_CLIENTS: Final = 8


@dataclass(frozen=True)
class ClusterSettings:
    """`options.topic` means nothing."""

    options: ReadOptions

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """`given`: settings of a catalog, without `spark.sql.catalog.<name>.`; those that say how to write, or what the
        catalog shows, mean nothing here. Raises `OptionError`."""
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
    """Clients of it. Safe to use from several threads. Close it."""

    def __init__(self, settings: ClusterSettings) -> None:
        """Connects lazily. Raises `OptionError`."""
        self.options = settings.options
        self._idle: list[BrokerClient] = []
        self._lock = Lock()
        with self.borrowed():
            pass

    def new_client(self) -> BrokerClient:
        """With connections of its own, for one thread. Whoever asks closes it."""
        return BrokerClient(self.options, patience_ms=round(CALL_SECONDS * 1000))

    @contextmanager
    def borrowed(self) -> Iterator[BrokerClient]:
        """A client that nobody else uses meanwhile."""
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
        """The one stream of a topic, partition 0 where brokers make partitioned ones; None where there is none."""
        with self.borrowed() as client:
            count = client.present_partitions([topic], create=create)[topic]
        if count is None:
            return None
        return TopicPartition(topic, 0 if count else -1)

    def options_of(self, partition: TopicPartition) -> ReadOptions:
        """To read it."""
        return replace(self.options, topic=str(partition.topic))

    def close(self) -> None:
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
