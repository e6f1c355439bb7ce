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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_random_exponential

from pyspark_pulsar.client.address import BrokerAddress, parse_broker_url, parse_service_url
from pyspark_pulsar.client.commands import GET_SCHEMA, GET_TOPICS_OF_NAMESPACE, LOOKUP, PARTITIONED_METADATA
from pyspark_pulsar.client.connection import Connection, await_answer, open_connection
from pyspark_pulsar.client.refusal import refusal
from pyspark_pulsar.client.security import security_of
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    OptionError,
    ProtocolError,
    TopicNotFoundError,
)
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.topic import Namespace, TopicName

Answer = TypeVar("Answer")

_MAX_REDIRECTS = 20
_PLANNING_PATIENCE_MS = 5_000
_REDIRECT, _CONNECT, _FAILED = 0, 1, 2
_METADATA_FAILED = 1


class BrokerClient:
    """Used on the driver and, one for each task, on executors. Close it, or use it as a context manager."""

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None) -> None:
        """Connects lazily. `patience_ms`: how long passing failures are retried; by default
        `pulsar.client.operationTimeoutMs`. Raises `OptionError` for a malformed service URL, and for parameters of
        authentication that are not understood."""
        self._hosts = parse_service_url(options.service_url)
        self._security = security_of(options)
        self._listener_name = options.listener_name
        self._connect_seconds = options.connection_timeout_ms / 1000
        self.request_seconds = options.operation_timeout_ms / 1000
        self.patience_seconds = (patience_ms or options.operation_timeout_ms) / 1000
        self._connections: dict[BrokerAddress, Connection] = {}
        self._owners: dict[str, BrokerAddress] = {}
        self._lock = threading.Lock()
        self._deadline = math.inf

    @classmethod
    def for_planning(cls, options: ConnectionOptions) -> Self:
        """A client of little patience: an unreachable broker should fail a query that is being written at a
        desk within seconds."""
        return cls(options, patience_ms=min(_PLANNING_PATIENCE_MS, options.operation_timeout_ms))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            connections = list(self._connections.values())
            self._connections.clear()
            self._owners.clear()
        for connection in connections:
            connection.close()

    def retrying(self, attempt: Callable[[], Answer], patience_seconds: float | None = None) -> Answer:
        """Call `attempt` until it does not fail for a passing reason, with pauses of up to 2 s."""
        retry = Retrying(
            retry=retry_if_exception_type(ConnectionFailed),
            stop=stop_before_delay(patience_seconds or self.patience_seconds),
            wait=wait_random_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        )
        return retry(attempt)

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Let whatever this client waits for in the block end at `deadline` (of `time.monotonic`). For a client that
        one thread uses; blocks are not nested."""
        self._deadline = deadline
        try:
            yield
        finally:
            self._deadline = math.inf

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
        with self._lock:
            known = self._connections.get(address)
            if known is not None and known.is_open:
                return known
            opened = open_connection(address, self.left(self._connect_seconds), self._security)
            self._connections[address] = opened
            return opened

    def owner_connection(self, topic: str) -> Connection:
        """A connection to the broker that serves `topic` (a partition's own name). One attempt, no retry."""
        owner = self._owners.get(topic)
        if owner is None:
            owner = self._lookup(topic)
            self._owners[topic] = owner
        try:
            return self._connection(owner)
        except ConnectionFailed:
            self.forget_owner(topic)
            raise

    def forget_owner(self, topic: str) -> None:
        """Call when the owner closed a consumer or producer, or refused: the topic may have moved."""
        self._owners.pop(topic, None)

    def _lookup(self, topic: str) -> BrokerAddress:
        where = f"looking up {topic}"
        connection, authoritative = self.service_connection(), False
        for _ in range(_MAX_REDIRECTS):
            question = wire.CommandLookupTopic(topic=topic, request_id=0, authoritative=authoritative)
            if self._listener_name is not None:
                question.advertised_listener_name = self._listener_name
            command = wire.BaseCommand(type=LOOKUP, lookupTopic=question)
            answer = connection.request(command, where, self.left(self.request_seconds))
            if answer.response == _FAILED:
                raise refusal(answer.error, answer.message, where)
            target = self._target(answer, where)
            if answer.proxy_through_service_url:
                host = connection.address
                target = BrokerAddress(host.host, host.port, f"{target.host}:{target.port}")
            if answer.response == _CONNECT:
                return target
            connection, authoritative = self._connection(target), answer.authoritative
        raise ProtocolError(
            f"{where}: expected an owner within {_MAX_REDIRECTS} redirects, got more redirects"
        )

    def _target(self, answer: wire.CommandLookupTopicResponse, where: str) -> BrokerAddress:
        tls = self._security.tls is not None
        url = answer.brokerServiceUrlTls if tls else answer.brokerServiceUrl
        if not url and (answer.brokerServiceUrl or answer.brokerServiceUrlTls):
            has, lacks, wanted = ("no ", "", "pulsar://") if tls else ("only ", "no ", "pulsar+ssl://")
            raise OptionError(
                f"{where}: the broker has {has}an address with TLS and {lacks}one without; use {wanted} in service.url"
            )
        return parse_broker_url(url, where)

    # Requests

    def partition_count(self, topic: TopicName, *, create: bool = False) -> int:
        """Partitions of the topic, 0 when it is not partitioned. Raises `TopicNotFoundError`.

        `create`: let the broker create a missing topic as its own auto-creation policy says.
        """
        return self.partition_counts([topic], create=create)[topic]

    def partition_counts(self, topics: Iterable[TopicName], *, create: bool = False) -> dict[TopicName, int]:
        """`partition_count` for many topics, with the requests pipelined."""
        wanted = list(topics)

        def attempt() -> dict[TopicName, int]:
            connection = self.service_connection()
            answers = [
                connection.submit(_partitions_command(topic, create), _where(topic)) for topic in wanted
            ]
            return {
                topic: self._partitions(answer, topic) for topic, answer in zip(wanted, answers, strict=True)
            }

        return self.retrying(attempt)

    def _partitions(self, answer: Future[Any], topic: TopicName) -> int:
        try:
            metadata = await_answer(answer, _where(topic), self.request_seconds)
            if metadata.response == _METADATA_FAILED:
                raise refusal(metadata.error, metadata.message, _where(topic))
        except TopicNotFoundError:
            raise TopicNotFoundError(
                f"topic {topic} does not exist; create it, or correct the name (a read never creates a topic)"
            ) from None
        return int(metadata.partitions)

    def topics_of_namespace(self, namespace: Namespace) -> list[TopicName]:
        """Persistent topics without system topics, partitions folded into their topic, sorted."""
        where = f"listing the topics of {namespace}"
        command = wire.BaseCommand(
            type=GET_TOPICS_OF_NAMESPACE,
            getTopicsOfNamespace=wire.CommandGetTopicsOfNamespace(
                request_id=0, namespace=str(namespace), mode=0
            ),
        )
        answer = self.retrying(
            lambda: self.service_connection().request(command, where, self.request_seconds)
        )
        names = {TopicName.parse(text).without_partition() for text in answer.topics}
        return sorted(name for name in names if not name.is_system)

    def schema(self, topic: TopicName, schema_version: bytes | None = None) -> SchemaInfo | None:
        """The registry's schema of a topic, the latest or one version; None when it has none."""
        where = f"reading the schema of {topic}"
        request = wire.CommandGetSchema(request_id=0, topic=str(topic))
        if schema_version is not None:
            request.schema_version = schema_version
        command = wire.BaseCommand(type=GET_SCHEMA, getSchema=request)
        answer = self.retrying(
            lambda: self.service_connection().request(command, where, self.request_seconds)
        )
        if answer.HasField("error_code"):
            fault = refusal(answer.error_code, answer.error_message, where)
            if isinstance(fault, TopicNotFoundError):
                return None
            raise fault
        return SchemaInfo.from_wire(
            name=answer.schema.name,
            type_number=answer.schema.type,
            schema_data=answer.schema.schema_data,
            properties=[(each.key, each.value) for each in answer.schema.properties],
            version=answer.schema_version or None,
        )


def _where(topic: TopicName) -> str:
    return f"reading the partitions of {topic}"


def _partitions_command(topic: TopicName, create: bool) -> wire.BaseCommand:
    request = wire.CommandPartitionedTopicMetadata(
        topic=str(topic), request_id=0, metadata_auto_creation_enabled=create
    )
    return wire.BaseCommand(type=PARTITIONED_METADATA, partitionMetadata=request)
