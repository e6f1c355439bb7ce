"""Requests to brokers that need no consumer or producer: lookup, partitions, schemas, topic lists.

A `BrokerClient` keeps one connection per broker and remembers which broker serves a topic until that
broker says otherwise. Requests that fail for a passing reason (connection lost, topic moving) are
repeated with growing pauses until `patience_ms` is over.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer, open_connection
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.broker.missing_topic import missing_topic
from pyspark_pulsar.client.broker.patience import Patience
from pyspark_pulsar.client.broker.requests import (
    end_of_layouts,
    layout_command,
    layout_from,
    listing_command,
    listing_topics,
    looking_up,
    lookup_command,
    owner_of,
    partitions_command,
    reading_layout,
    reading_partitions,
    reading_schema,
    schema_command,
    schema_of,
)
from pyspark_pulsar.client.security.context import security_of
from pyspark_pulsar.client.security.url import BrokerAddress, parse_service_url
from pyspark_pulsar.client.topic_list import TopicListing, usable_topics
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    OptionError,
    ProtocolError,
    PulsarError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.model.topic_layout import TopicLayout
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.schema.info import SchemaInfo

Answer = TypeVar("Answer")
Item = TypeVar("Item")

AT_ONCE: Final = 1000
"""Requests on their way at the same time; far below the number at which brokers refuse more lookups."""

_MAX_REDIRECTS = 20
_MOST_OWNERS: Final = 100_000
"""Connections that `owner_connections` opens at the same time."""
_MOST_CONNECT: Final = 2
"""A thread that waits for an attempt of another one leaves after so many times the attempt's own deadline."""
_PLANNING_PATIENCE_MS = 5_000
_HINT_SECONDS = 2.0
_REDIRECT, _CONNECT, _FAILED = 0, 1, 2
_METADATA_FAILED = 1


class BrokerClient:
    """Used on the driver and, one for each task, on executors. Threads may share it, but for `until`. Close it, or use
    it as a context manager."""

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None) -> None:
        """Connects lazily. `patience_ms`: how long passing failures are retried; by default
        `pulsar.client.operationTimeoutMs`. Raises `OptionError` for a malformed service URL, and for parameters of
        authentication that are not understood."""
        self._options = options
        self._hosts = parse_service_url(options.service_url)
        self._security = security_of(options)
        self._listener_name = options.listener_name
        self._connect_seconds = options.connection_timeout_ms / 1000
        self.request_seconds = options.operation_timeout_ms / 1000
        patience_seconds = (patience_ms or options.operation_timeout_ms) / 1000
        self._patience = Patience(patience_seconds, patience_seconds)
        self._connections: dict[BrokerAddress, Connection] = {}
        self._opening: dict[BrokerAddress, Future[Connection]] = {}
        self._owners: dict[str, BrokerAddress] = {}
        self._lock = threading.Lock()
        self._times_closed = 0
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
        with self._lock:
            self._times_closed += 1
            connections = list(self._connections.values())
            self._connections.clear()
            self._owners.clear()
        for connection in connections:
            connection.close()

    @property
    def patience_seconds(self) -> float:
        """With brokers that cannot be reached."""
        return self._patience.seconds

    @property
    def has_open_ends(self) -> bool:
        """Whether a consumer or producer is open on one of the connections."""
        with self._lock:
            return any(connection.is_used for connection in self._connections.values())

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
        """A connection to any host of the service URL. Raises `ConnectionFailed` when none answers."""
        hosts = sorted(random.sample(self._hosts, len(self._hosts)), key=lambda host: not self._knows(host))
        for index, host in enumerate(hosts):
            try:
                return self._connection(host)
            except ConnectionFailed:
                if index == len(hosts) - 1:
                    raise
        raise ConnectionFailed("service.url names no host")

    def _knows(self, address: BrokerAddress) -> bool:
        """Whether there is a connection: a host that answers is better than one that may not."""
        with self._lock:
            known = self._connections.get(address)
        return known is not None and known.is_open

    def _connection(self, address: BrokerAddress) -> Connection:
        """Return the connection to the address, opening it if need be. Threads that need the same one wait for one
        attempt; no thread waits for the attempt to connect to another broker."""
        with self._lock:
            known = self._connections.get(address)
            if known is not None and known.is_open:
                return known
            opening = self._opening.get(address)
            if opening is None:
                attempt = self._opening[address] = Future[Connection]()
                times_closed = self._times_closed
        if opening is not None:
            seconds = self.left(_MOST_CONNECT * self._connect_seconds)
            connection: Connection = await_answer(opening, f"connecting to {address}", seconds)
            return connection
        try:
            opened = open_connection(address, self.left(self._connect_seconds), self._security)
            self._keep(address, opened, times_closed)
        except BaseException as fault:
            with self._lock:
                del self._opening[address]
            failed = fault if isinstance(fault, PulsarError) else ConnectionFailed(f"{address}: {fault!r}")
            attempt.set_exception(failed)
            raise
        attempt.set_result(opened)
        return opened

    def _keep(self, address: BrokerAddress, opened: Connection, times_closed: int) -> None:
        """Keep an open connection, and forget those that have ended: brokers get new addresses for as long as a client
        lives. Raises `ConnectionFailed` if the client was closed meanwhile."""
        with self._lock:
            is_wanted = times_closed == self._times_closed
            if is_wanted:
                kept = {other: known for other, known in self._connections.items() if known.is_open}
                self._connections = {**kept, address: opened}
                del self._opening[address]
        if not is_wanted:
            opened.close()
            raise ConnectionFailed(f"{address}: the client was closed while it connected")

    def owner_connection(self, topic: str) -> Connection:
        """A connection to the broker that serves `topic` (a partition's own name). One attempt, no retry."""
        self._bound_owners()
        owner = self._owners.get(topic)
        if owner is None:
            owner = self._lookup(topic)
            self._owners[topic] = owner
        try:
            return self._connection(owner)
        except ConnectionFailed:
            self.forget_owner(topic)
            raise

    def _bound_owners(self) -> None:
        """Forget owners that were learned first: topics come and go for as long as a client lives, and those that are
        still read are looked up once more."""
        excess = len(self._owners) - _MOST_OWNERS
        if excess > 0:
            for topic in list(self._owners)[:excess]:
                self.forget_owner(topic)

    def forget_owner(self, topic: str) -> None:
        """Call when the owner closed a consumer or producer, or refused: the topic may have moved."""
        self._owners.pop(topic, None)

    def owner_connections(self, topics: Iterable[str]) -> dict[str, Connection | PulsarError]:
        """`owner_connection` for many topics: one lookup after the other without waiting, one attempt to connect for
        each broker. A topic's failure takes the place of its connection."""
        self._bound_owners()
        names = list(topics)
        connections: dict[str, Connection | PulsarError] = dict(
            self._find_owners([topic for topic in names if topic not in self._owners])
        )
        by_owner: dict[BrokerAddress, list[str]] = {}
        for topic in names:
            if topic in self._owners:
                by_owner.setdefault(self._owners[topic], []).append(topic)
        opened = self._connections_to(by_owner)
        for owner, owned in by_owner.items():
            if isinstance(opened[owner], ConnectionFailed):
                for topic in owned:
                    self.forget_owner(topic)
            connections.update(dict.fromkeys(owned, opened[owner]))
        return connections

    def _connections_to(
        self, addresses: Iterable[BrokerAddress]
    ) -> dict[BrokerAddress, Connection | ConnectionFailed]:
        """Return a connection to each address, or why there is none. Connects to several brokers at the same time, so
        that those that do not answer take the time of one."""
        wanted = list(addresses)
        missing = [address for address in wanted if not self._knows(address)]
        if len(missing) <= 1:
            return {address: self._connection_or_fault(address) for address in wanted}
        return dict(zip(wanted, map_concurrently(self._connection_or_fault, wanted), strict=True))

    def _connection_or_fault(self, address: BrokerAddress) -> Connection | ConnectionFailed:
        try:
            return self._connection(address)
        except ConnectionFailed as fault:
            return fault

    def _find_owners(self, topics: list[str]) -> dict[str, PulsarError]:
        """Look the topics up; what failed."""
        faults: dict[str, PulsarError] = {}
        for window in in_windows(topics):
            connection = self.service_connection()
            answers = connection.submit_all(
                [(lookup_command(topic, self._listener_name), looking_up(topic)) for topic in window]
            )
            # One deadline for all, which were sent together.
            deadline = time.monotonic() + self.left(self.request_seconds)
            for topic, answer in zip(window, answers, strict=True):
                try:
                    first = await_answer(answer, looking_up(topic), max(0.0, deadline - time.monotonic()))
                    self._owners[topic] = self._follow(topic, connection, first)
                except PulsarError as fault:
                    faults[topic] = fault
        return faults

    def _lookup(self, topic: str) -> BrokerAddress:
        connection = self.service_connection()
        answer = connection.request(
            lookup_command(topic, self._listener_name), looking_up(topic), self.left(self.request_seconds)
        )
        return self._follow(topic, connection, answer)

    def _follow(self, topic: str, connection: Connection, answer: Any) -> BrokerAddress:
        """The owner that an answer to a lookup leads to, over redirects."""
        where = looking_up(topic)
        for _ in range(_MAX_REDIRECTS):
            if answer.response == _FAILED:
                raise server_error(answer.error, answer.message, where)
            target = owner_of(answer, where, tls=self._security.tls is not None)
            if answer.proxy_through_service_url:
                host = connection.address
                target = BrokerAddress(host.host, host.port, f"{target.host}:{target.port}")
            if answer.response == _CONNECT:
                return target
            connection = self._connection(target)
            command = lookup_command(topic, self._listener_name, authoritative=answer.authoritative)
            answer = connection.request(command, where, self.left(self.request_seconds))
        raise ProtocolError(
            f"{where}: expected an owner within {_MAX_REDIRECTS} redirects, got more redirects"
        )

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


def in_windows(items: Iterable[Item], size: int = AT_ONCE) -> Iterator[list[Item]]:
    """So many of them at a time."""
    rest = iter(items)
    while window := list(islice(rest, size)):
        yield window
