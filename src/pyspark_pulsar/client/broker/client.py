"""A client of brokers, for requests without a consumer or producer: lookups, partitions, schemas, topic lists.

A `BrokerClient` has one connection to each broker (`broker_connections`), and caches which broker owns a topic
(`topic_owners`). A request that fails temporarily, for example because a topic moves, is repeated after growing pauses
until `patience_ms` has passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from pyspark_pulsar.runtime import Future, time
from pyspark_pulsar.schema.info import SchemaInfo

Answer = TypeVar("Answer")

_PLANNING_PATIENCE_MS = 5_000
_HINT_SECONDS = 2.0
_METADATA_FAILED = 1


class BrokerClient:
    """A client of the brokers of a cluster, on the driver or for one task on an executor.

    Several threads can share a client, with the restriction of the method `until`. Close a client after use, or use the
    client as a context manager.
    """

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None) -> None:
        """Store the settings, without connecting.

        Args:
            options: The address, credentials and timeouts.
            patience_ms: The time limit for retries of temporary failures, in milliseconds. The default is the option
                `pulsar.client.operationTimeoutMs`.

        Raises:
            OptionError: The service URL or the authentication parameters are malformed.

        """
        self._options = options
        self.request_seconds = options.operation_timeout_ms / 1000
        patience_seconds = (patience_ms or options.operation_timeout_ms) / 1000
        self._patience = Patience(patience_seconds, patience_seconds)
        security = security_of(options)
        self._connections = BrokerConnections(
            parse_service_url(options.service_url),
            security,
            options.connection_timeout_ms / 1000,
            self.seconds_left,
        )
        self._owners = TopicOwners(
            self._connections,
            listener_name=options.listener_name,
            uses_tls=security.tls is not None,
            request_seconds=self.request_seconds,
            seconds_left=self.seconds_left,
        )
        self._deadline = math.inf

    @classmethod
    def for_planning(cls, options: ConnectionOptions, *, runs: bool = False) -> Self:
        """Return a client that fails fast.

        With this client, an interactive query fails within seconds if no broker is reachable. If a broker answers that
        it is not ready, the client waits with the usual time limits.

        Args:
            options: The address, credentials and timeouts.
            runs: Whether the query is already running. For a running query, the client uses the usual time limits for
                all failures, because brokers can restart.

        """
        if runs:
            return cls(options)
        client = cls(options, patience_ms=min(_PLANNING_PATIENCE_MS, options.operation_timeout_ms))
        client._patience = Patience(client.patience_seconds, client.request_seconds)
        return client

    def with_own_connections(self) -> BrokerClient:
        """Return a client with separate connections. A connection that is full of entries receives no answers."""
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
        """Close all connections, including connections that a thread is opening."""
        self._owners.clear()
        self._connections.close()

    @property
    def patience_seconds(self) -> float:
        """Return the time limit for retries while brokers are unreachable, in seconds."""
        return self._patience.seconds

    @property
    def has_open_ends(self) -> bool:
        """Return whether a consumer or producer uses one of the connections."""
        return self._connections.has_open_ends

    def retrying(self, attempt: Callable[[], Answer], patience_seconds: float | None = None) -> Answer:
        """Call `attempt` again after each temporary failure, with pauses of up to 2 s.

        Args:
            attempt: A function that is safe to repeat.
            patience_seconds: The time limit for retries in seconds, by default this client's limit. The deadline of
                `until` also applies.

        Raises:
            PulsarError: The last temporary failure, or the first other failure.

        """
        patience = self._patience
        if patience_seconds is not None:
            patience = Patience(patience_seconds, patience_seconds)
        left = max(0.0, self._deadline - time.monotonic())
        return Patience(min(patience.seconds, left), min(patience.not_ready_seconds, left)).retrying(attempt)

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Set a deadline for all waits of this client in the block, on the clock of `time.monotonic`.

        The deadline of an outer block applies too. The deadline applies to all threads. Therefore no other thread is
        allowed to use the client, except threads that start and end within the block.
        """
        previous = self._deadline
        self._deadline = min(previous, deadline)
        try:
            yield
        finally:
            self._deadline = previous

    def seconds_left(self, seconds: float) -> float:
        """Return the smaller of `seconds` and the time until the deadline of `until`.

        Raises:
            DeadlineExceeded: The deadline of `until` has passed.

        """
        left = min(seconds, self._deadline - time.monotonic())
        if left <= 0:
            raise DeadlineExceeded(
                "waiting for the broker: expected an answer before the deadline of the operation, got none"
            )
        return left

    # Connections

    def service_connection(self) -> Connection:
        """Return a connection to any host of the service URL. Raise `ConnectionFailed` if no host answers."""
        return self._connections.service_connection()

    def owner_connection(self, topic: str) -> Connection:
        """Return a connection to the broker that owns `topic`, a topic or a partition. Failures are not retried."""
        return self._owners.connection(topic)

    def owner_connections(self, topics: Iterable[str]) -> dict[str, Connection | PulsarError]:
        """Return a mapping from each topic to the connection to its owner, or to the failure. Lookups are pipelined."""
        return self._owners.connections(topics)

    def forget_owner(self, topic: str) -> None:
        """Forget the topic's owner. Call this method after a failure of the owner, because the topic can have moved."""
        self._owners.forget(topic)

    # Requests

    def partition_count(self, topic: TopicName, *, create: bool = False) -> int:
        """Return the number of partitions of the topic, or 0 if the topic is not partitioned.

        Args:
            topic: The topic.
            create: Whether the broker creates a missing topic, if the broker's auto-creation policy allows the
                creation.

        Raises:
            TopicNotFoundError: The topic does not exist.

        """
        return self.partition_counts([topic], create=create)[topic]

    def partition_counts(self, topics: Iterable[TopicName], *, create: bool = False) -> dict[TopicName, int]:
        """Return a mapping from each topic to its `partition_count`. Requests are pipelined."""
        counts: dict[TopicName, int] = {}
        for topic, count in self.present_partitions(topics, create=create).items():
            if count is None:
                # `tuple` lists no names, so the error suggests no names. Requesting names would need `until`, but
                # writers call this method on many threads.
                raise missing_topic(topic, tuple)
            counts[topic] = count
        return counts

    def missing_topic(self, topic: TopicName) -> TopicNotFoundError:
        """Return the error for a topic that does not exist. One request finds topics with a similar name.

        No other thread is allowed to use the client during the call, because this method uses `until`.
        """

        def listed() -> Iterable[TopicName]:
            namespace = topic.namespace
            with self.until(time.monotonic() + _HINT_SECONDS):
                return self._request_listings([namespace], {namespace: None})[namespace].names

        return missing_topic(topic, listed)

    def present_partitions(
        self, topics: Iterable[TopicName], *, create: bool = False
    ) -> dict[TopicName, int | None]:
        """Return a mapping from each topic to its `partition_count`, or to None if the topic does not exist."""
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
            metadata = await_answer(
                answer, reading_partitions(topic), self.seconds_left(self.request_seconds)
            )
            # Pulsar's proxy refuses this request with the answer to a lookup.
            if isinstance(metadata, wire.CommandLookupTopicResponse) or metadata.response == _METADATA_FAILED:
                raise server_error(metadata.error, metadata.message, reading_partitions(topic))
        except TopicNotFoundError:
            return None
        return int(metadata.partitions)

    def layouts(self, topics: Iterable[TopicName]) -> dict[TopicName, TopicLayout | None]:
        """Return a mapping from each scalable topic to its current segments, or to None if the topic does not exist.

        Raises:
            OptionError: The broker does not support scalable topics.

        """
        layouts: dict[TopicName, TopicLayout | None] = {}
        for window in in_windows(topics):
            layouts.update(self.retrying(partial(self._request_layouts, window)))
        return layouts

    def _request_layouts(self, topics: list[TopicName]) -> dict[TopicName, TopicLayout | None]:
        connection = self.service_connection()
        if not connection.knows_scalable_topics:
            raise OptionError(
                f"{reading_layout(topics[0])}: expected a broker with scalable topics (Pulsar 5.0 or later), got a "
                f"broker without scalable topics at {connection.address}; use a topic that starts with persistent://, "
                f"or set service.url to a broker of Pulsar 5 instead of a proxy"
            )
        answers = connection.submit_all([(layout_command(topic), reading_layout(topic)) for topic in topics])
        layouts: dict[TopicName, TopicLayout | None] = {}
        for topic, pending in zip(topics, answers, strict=True):
            answer = await_answer(pending, reading_layout(topic), self.seconds_left(self.request_seconds))
            connection.send_bytes(end_of_layouts(answer))
            try:
                layouts[topic] = layout_from(answer, topic)
            except TopicNotFoundError:
                layouts[topic] = None
        return layouts

    def listings(self, known: Mapping[Namespace, TopicListing | None]) -> dict[Namespace, TopicListing]:
        """Return a mapping from each namespace to its topics, including system topics. Requests are pipelined.

        Args:
            known: A mapping from each namespace to an earlier list of its topics, or to None. Brokers do not send an
                unchanged list again.

        """
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
            answer = await_answer(pending, listing_topics(namespace), self.seconds_left(self.request_seconds))
            previous = known[namespace]
            if not answer.changed and previous is not None:
                listings[namespace] = previous
            else:
                listings[namespace] = TopicListing(
                    usable_topics(answer.topics, namespace), answer.topics_hash
                )
        return listings

    def schema(self, topic: TopicName, schema_version: bytes | None = None) -> SchemaInfo | None:
        """Return a topic's schema from the registry, or None if the topic has no schema.

        Args:
            topic: The topic.
            schema_version: The version of the schema; None requests the latest version.

        """
        return self.retrying(partial(self._request_schemas, [topic], schema_version))[topic]

    def schemas(self, topics: Iterable[TopicName]) -> dict[TopicName, SchemaInfo | None]:
        """Return a mapping from each topic to its latest schema, or to None. Requests are pipelined."""
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
            answer = await_answer(pending, reading_schema(topic), self.seconds_left(self.request_seconds))
            schemas[topic] = schema_of(answer, reading_schema(topic))
        return schemas
