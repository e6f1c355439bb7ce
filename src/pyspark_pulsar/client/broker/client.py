"""Requests to brokers that need no consumer or producer: lookup, partitions, schemas, topic lists.

A `BrokerClient` keeps one connection per broker (`broker_connections`) and remembers which broker serves a topic
(`topic_owners`). Requests that fail for a passing reason (connection lost, topic moving) are
repeated with growing pauses until `patience_ms` is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from pyspark_pulsar.client.broker.broker_connections import BrokerConnections
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.broker.missing_topic import missing_topic
from pyspark_pulsar.client.broker.patience import Patience
from pyspark_pulsar.client.broker.requests import (
    end_of_layouts,
    in_windows,
    layout_command,
    layout_from,
    listing_command,
    listing_topics,
    partitions_command,
    reading_layout,
    reading_partitions,
    reading_schema,
    schema_command,
    schema_of,
)
from pyspark_pulsar.client.broker.topic_owners import TopicOwners
from pyspark_pulsar.client.security.context import security_of
from pyspark_pulsar.client.security.url import parse_service_url
from pyspark_pulsar.client.topic_list import TopicListing, usable_topics
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import (
    DeadlineExceeded,
    OptionError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.model.topic_layout import TopicLayout
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.schema.info import SchemaInfo

Answer = TypeVar("Answer")

_PLANNING_PATIENCE_MS = 5_000
_HINT_SECONDS = 2.0
_METADATA_FAILED = 1


class BrokerClient:
    """Used on the driver and, one for each task, on executors. Threads may share it, but for `until`. Close it, or use
    it as a context manager."""

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None) -> None:
        """Connects lazily. `patience_ms`: how long passing failures are retried; by default
        `pulsar.client.operationTimeoutMs`. Raises `OptionError` for a malformed service URL, and for parameters of
        authentication that are not understood."""
        self._options = options
        self.request_seconds = options.operation_timeout_ms / 1000
        patience_seconds = (patience_ms or options.operation_timeout_ms) / 1000
        self._patience = Patience(patience_seconds, patience_seconds)
        security = security_of(options)
        self._connections = BrokerConnections(
            parse_service_url(options.service_url), security, options.connection_timeout_ms / 1000, self.left
        )
        self._owners = TopicOwners(
            self._connections,
            listener_name=options.listener_name,
            uses_tls=security.tls is not None,
            request_seconds=self.request_seconds,
            left=self.left,
        )
        self._deadline = math.inf

    @classmethod
    def for_planning(cls, options: ConnectionOptions, *, runs: bool = False) -> Self:
        """A client of little patience: an unreachable broker should fail a query that is being written at a
        desk within seconds. One that answers that it is not ready is waited for. A query that `runs` already waits
        for a broker that is started again."""
        if runs:
            return cls(options)
        client = cls(options, patience_ms=min(_PLANNING_PATIENCE_MS, options.operation_timeout_ms))
        client._patience = Patience(client.patience_seconds, client.request_seconds)
        return client

    def another(self) -> BrokerClient:
        """With connections of its own: what waits for a consumer may fill those of this one."""
        client = BrokerClient(self._options)
        client._patience = self._patience
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, also those that a thread is opening."""
        self._owners.clear()
        self._connections.close()

    @property
    def patience_seconds(self) -> float:
        """With brokers that cannot be reached."""
        return self._patience.seconds

    @property
    def has_open_ends(self) -> bool:
        """Whether a consumer or producer is open on one of the connections."""
        return self._connections.has_open_ends

    def retrying(self, attempt: Callable[[], Answer], patience_seconds: float | None = None) -> Answer:
        """Call `attempt` until it does not fail for a passing reason, with pauses of up to 2 s; for `patience_seconds`,
        by default as long as this client is patient; not beyond the time of `until`."""
        patience = self._patience
        if patience_seconds is not None:
            patience = Patience(patience_seconds, patience_seconds)
        left = max(0.0, self._deadline - time.monotonic())
        return Patience(min(patience.seconds, left), min(patience.not_ready_seconds, left)).retrying(attempt)

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Let whatever this client waits for in the block end at `deadline` (of `time.monotonic`), or when the time of
        a block around it does. For a client that one thread uses; threads may share it within a block around theirs."""
        former = self._deadline
        self._deadline = min(former, deadline)
        try:
            yield
        finally:
            self._deadline = former

    def left(self, seconds: float) -> float:
        """How long a wait of `seconds` may take. Raises `DeadlineExceeded` when the time of `until` is over."""
        left = min(seconds, self._deadline - time.monotonic())
        if left <= 0:
            raise DeadlineExceeded("the time for it is over")
        return left

    # Connections

    def service_connection(self) -> Connection:
        """Return a connection to any host of the service URL. Raises `ConnectionFailed` when none answers."""
        return self._connections.service_connection()

    def owner_connection(self, topic: str) -> Connection:
        """Return a connection to the broker that serves `topic` (a partition's own name). One attempt, no retry."""
        return self._owners.connection(topic)

    def owner_connections(self, topics: Iterable[str]) -> dict[str, Connection | PulsarError]:
        """Return `owner_connection` of each topic, or its failure. The lookups are pipelined."""
        return self._owners.connections(topics)

    def forget_owner(self, topic: str) -> None:
        """Call when the owner closed a consumer or producer, or refused: the topic may have moved."""
        self._owners.forget(topic)

    # Requests

    def partition_count(self, topic: TopicName, *, create: bool = False) -> int:
        """Partitions of the topic, 0 when it is not partitioned. Raises `TopicNotFoundError`.

        `create`: let the broker create a missing topic as its own auto-creation policy says.
        """
        return self.partition_counts([topic], create=create)[topic]

    def partition_counts(self, topics: Iterable[TopicName], *, create: bool = False) -> dict[TopicName, int]:
        """`partition_count` for many topics, with the requests pipelined."""
        counts: dict[TopicName, int] = {}
        for topic, count in self.present_partitions(topics, create=create).items():
            if count is None:
                # Without similar names: writers create the topic instead, in many threads.
                raise missing_topic(topic, tuple)
            counts[topic] = count
        return counts

    def missing_topic(self, topic: TopicName) -> TopicNotFoundError:
        """Return the error for a topic that does not exist. Asks the broker once for topics with a similar name.

        For a client that one thread uses, as `until`.
        """

        def listed() -> Iterable[TopicName]:
            namespace = topic.namespace
            with self.until(time.monotonic() + _HINT_SECONDS):
                return self._request_listings([namespace], {namespace: None})[namespace].names

        return missing_topic(topic, listed)

    def present_partitions(
        self, topics: Iterable[TopicName], *, create: bool = False
    ) -> dict[TopicName, int | None]:
        """`partition_counts`, with None for a topic that does not exist."""
        counts: dict[TopicName, int | None] = {}
        for window in in_windows(topics):
            counts.update(self.retrying(partial(self._request_partitions, window, create)))
        return counts

    def _request_partitions(self, topics: list[TopicName], create: bool) -> dict[TopicName, int | None]:
        connection = self.service_connection()
        answers = connection.submit_all(
            [(partitions_command(topic, create), reading_partitions(topic)) for topic in topics]
        )
        return {topic: self._partitions(answer, topic) for topic, answer in zip(topics, answers, strict=True)}

    def _partitions(self, answer: Future[Any], topic: TopicName) -> int | None:
        try:
            metadata = await_answer(answer, reading_partitions(topic), self.left(self.request_seconds))
            # Pulsar's proxy refuses with the answer to a lookup.
            if isinstance(metadata, wire.CommandLookupTopicResponse) or metadata.response == _METADATA_FAILED:
                raise server_error(metadata.error, metadata.message, reading_partitions(topic))
        except TopicNotFoundError:
            return None
        return int(metadata.partitions)

    def layouts(self, topics: Iterable[TopicName]) -> dict[TopicName, TopicLayout | None]:
        """The segments of scalable topics now, None for a topic that does not exist; the requests are pipelined. Raises
        `OptionError` for a broker that knows none."""
        layouts: dict[TopicName, TopicLayout | None] = {}
        for window in in_windows(topics):
            layouts.update(self.retrying(partial(self._request_layouts, window)))
        return layouts

    def _request_layouts(self, topics: list[TopicName]) -> dict[TopicName, TopicLayout | None]:
        connection = self.service_connection()
        if not connection.knows_scalable_topics:
            raise OptionError(
                f"{reading_layout(topics[0])}: expected a broker with scalable topics, which Pulsar 5.0 and later has, "
                f"got one at {connection.address} without; name a topic that starts with persistent://, or let "
                f"service.url name brokers of Pulsar 5 themselves, as proxies may not pass this on"
            )
        answers = connection.submit_all([(layout_command(topic), reading_layout(topic)) for topic in topics])
        layouts: dict[TopicName, TopicLayout | None] = {}
        for topic, pending in zip(topics, answers, strict=True):
            answer = await_answer(pending, reading_layout(topic), self.left(self.request_seconds))
            connection.send_bytes(end_of_layouts(answer))
            try:
                layouts[topic] = layout_from(answer, topic)
            except TopicNotFoundError:
                layouts[topic] = None
        return layouts

    def listings(self, known: Mapping[Namespace, TopicListing | None]) -> dict[Namespace, TopicListing]:
        """The topics of all these namespaces now, system topics among them; those that have not changed since `known`
        are not sent again. The requests are pipelined."""
        listings: dict[Namespace, TopicListing] = {}
        for window in in_windows(known):
            listings.update(self.retrying(partial(self._request_listings, window, known)))
        return listings

    def _request_listings(
        self, namespaces: list[Namespace], known: Mapping[Namespace, TopicListing | None]
    ) -> dict[Namespace, TopicListing]:
        connection = self.service_connection()
        digests = {namespace: listing.digest for namespace, listing in known.items() if listing is not None}
        answers = connection.submit_all(
            [
                (listing_command(namespace, digests.get(namespace)), listing_topics(namespace))
                for namespace in namespaces
            ]
        )
        listings: dict[Namespace, TopicListing] = {}
        for namespace, pending in zip(namespaces, answers, strict=True):
            answer = await_answer(pending, listing_topics(namespace), self.left(self.request_seconds))
            former = known[namespace]
            if not answer.changed and former is not None:
                listings[namespace] = former
            else:
                listings[namespace] = TopicListing(
                    usable_topics(answer.topics, namespace), answer.topics_hash
                )
        return listings

    def schema(self, topic: TopicName, schema_version: bytes | None = None) -> SchemaInfo | None:
        """The registry's schema of a topic, the latest or one version; None when it has none."""
        return self.retrying(partial(self._request_schemas, [topic], schema_version))[topic]

    def schemas(self, topics: Iterable[TopicName]) -> dict[TopicName, SchemaInfo | None]:
        """The latest `schema` of many topics, with the requests pipelined."""
        schemas: dict[TopicName, SchemaInfo | None] = {}
        for window in in_windows(topics):
            schemas.update(self.retrying(partial(self._request_schemas, window, None)))
        return schemas

    def _request_schemas(
        self, topics: list[TopicName], version: bytes | None
    ) -> dict[TopicName, SchemaInfo | None]:
        answers = self.service_connection().submit_all(
            [(schema_command(topic, version), reading_schema(topic)) for topic in topics]
        )
        schemas: dict[TopicName, SchemaInfo | None] = {}
        for topic, pending in zip(topics, answers, strict=True):
            answer = await_answer(pending, reading_schema(topic), self.left(self.request_seconds))
            schemas[topic] = schema_of(answer, reading_schema(topic))
        return schemas
