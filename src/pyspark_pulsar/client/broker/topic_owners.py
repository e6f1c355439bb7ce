"""Lookups of the broker that serves a topic (the owner), and connections to that broker.

The answer to a lookup is cached until the broker refuses a request, closes a consumer or producer, or is unreachable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from pyspark_pulsar.client.broker.broker_connections import BrokerConnections
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.broker.connection.server_error import server_error
from pyspark_pulsar.client.broker.requests import in_windows, looking_up, lookup_command, owner_of
from pyspark_pulsar.client.security.url import BrokerAddress
from pyspark_pulsar.errors import ConnectionFailed, ProtocolError, PulsarError
from pyspark_pulsar.runtime import time

_MAX_REDIRECTS = 20
_MOST_OWNERS: Final = 100_000
_REDIRECT, _CONNECT, _FAILED = 0, 1, 2


class TopicOwners:
    """A client's cache of the brokers that serve topics. Several threads can share an instance."""

    def __init__(
        self,
        connections: BrokerConnections,
        *,
        listener_name: str | None,
        uses_tls: bool,
        request_seconds: float,
        seconds_left: Callable[[float], float],
    ) -> None:
        """Store the arguments, without a lookup.

        Args:
            connections: The client's connections, which also send the lookups.
            listener_name: The advertised listener whose addresses brokers return. With None, brokers choose the
                listener.
            uses_tls: Whether to connect to the addresses for TLS.
            request_seconds: Time limit of one lookup, in seconds.
            seconds_left: A function that shortens a number of seconds to the client's remaining time. If no time
                remains, the function raises `DeadlineExceeded`.

        """
        self._connections = connections
        self._listener_name = listener_name
        self._uses_tls = uses_tls
        self._request_seconds = request_seconds
        self._seconds_left = seconds_left
        self._owners: dict[str, BrokerAddress] = {}

    def clear(self) -> None:
        """Forget the owners of all topics."""
        self._owners.clear()

    def connection(self, topic: str) -> Connection:
        """Return a connection to the broker that serves a topic or partition. A failure is not retried."""
        self._bound()
        owner = self._owners.get(topic)
        if owner is None:
            owner = self._lookup(topic)
            self._owners[topic] = owner
        try:
            return self._connections.connection(owner)
        except ConnectionFailed:
            self.forget(topic)
            raise

    def _bound(self) -> None:
        """Forget the oldest owners if more than `_MOST_OWNERS` owners are cached.

        The limit is needed because a client can exist longer than its topics. If a topic is still in use, the client
        looks up the topic again.
        """
        excess = len(self._owners) - _MOST_OWNERS
        if excess > 0:
            for topic in list(self._owners)[:excess]:
                self.forget(topic)

    def forget(self, topic: str) -> None:
        """Forget the topic's owner. Call this method after the owner failed or refused a request."""
        self._owners.pop(topic, None)

    def connections(self, topics: Iterable[str]) -> dict[str, Connection | PulsarError]:
        """Return a mapping from each topic to the connection to its owner, or to the failure.

        Lookups are pipelined. There is one attempt to connect to each broker.
        """
        self._bound()
        names = list(topics)
        connections: dict[str, Connection | PulsarError] = dict(
            self._find_owners([topic for topic in names if topic not in self._owners])
        )
        by_owner: dict[BrokerAddress, list[str]] = {}
        for topic in names:
            if topic in self._owners:
                by_owner.setdefault(self._owners[topic], []).append(topic)
        opened = self._connections.connections(by_owner)
        for owner, owned in by_owner.items():
            if isinstance(opened[owner], ConnectionFailed):
                for topic in owned:
                    self.forget(topic)
            connections.update(dict.fromkeys(owned, opened[owner]))
        return connections

    def _find_owners(self, topics: list[str]) -> dict[str, PulsarError]:
        """Look up and cache the owners of topics. Return a mapping from topics to failed lookups."""
        faults: dict[str, PulsarError] = {}
        for window in in_windows(topics):
            connection = self._connections.service_connection()
            answers = connection.submit_all(
                [(lookup_command(topic, self._listener_name), looking_up(topic)) for topic in window]
            )
            # One deadline applies to all lookups, because the client sent all lookups together.
            deadline = time.monotonic() + self._seconds_left(self._request_seconds)
            for topic, answer in zip(window, answers, strict=True):
                try:
                    first = await_answer(answer, looking_up(topic), max(0.0, deadline - time.monotonic()))
                    self._owners[topic] = self._follow(topic, connection, first)
                except PulsarError as fault:
                    faults[topic] = fault
        return faults

    def _lookup(self, topic: str) -> BrokerAddress:
        connection = self._connections.service_connection()
        answer = connection.request(
            lookup_command(topic, self._listener_name),
            looking_up(topic),
            self._seconds_left(self._request_seconds),
        )
        return self._follow(topic, connection, answer)

    def _follow(self, topic: str, connection: Connection, answer: Any) -> BrokerAddress:
        """Follow redirects from an answer to a lookup, and return the topic's owner."""
        where = looking_up(topic)
        for _ in range(_MAX_REDIRECTS):
            if answer.response == _FAILED:
                raise server_error(answer.error, answer.message, where)
            target = owner_of(answer, where, tls=self._uses_tls)
            if answer.proxy_through_service_url:
                host = connection.address
                target = BrokerAddress(host.host, host.port, f"{target.host}:{target.port}")
            if answer.response == _CONNECT:
                return target
            connection = self._connections.connection(target)
            command = lookup_command(topic, self._listener_name, authoritative=answer.authoritative)
            answer = connection.request(command, where, self._seconds_left(self._request_seconds))
        raise ProtocolError(
            f"{where}: expected an owner within {_MAX_REDIRECTS} redirects, got more redirects; try again, or let "
            f"an administrator check the brokers"
        )
