"""Broker clients that are used by one task after another.

A worker of Spark runs task after task, mostly for the same query. Without a pool, each task would connect to the
brokers, authenticate, and look up its topics. These steps need more round trips than the rows of a small micro-batch.

    state | use                                    | event                                            | next state
    lent  | one block of `pooled_client`           | the end of the block, with no consumer or        | idle
          |                                        | producer left open                               |
          |                                        | an error in the block, or something left open    | closed
    idle  | none; its connections answer pings     | a block with the same options                    | lent
          |                                        | `IDLE_SECONDS` without such a block              | closed

So a consumer or producer that a task fails to close ends with the task, as with the task's own client. An idle client
may remember outdated owners of topics. Brokers then refuse requests, and `BrokerClient` looks the topic up again.

A process has one pool. If a process was forked after a client was lent, it would share the client's sockets. Spark
forks its workers from a process that runs no task.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.runtime import threading, time

IDLE_SECONDS: Final = 60.0

_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _IdleClient:
    key: _Key
    client: BrokerClient
    since: float


class ClientPool:
    """A pool of idle broker clients. Safe to use from several threads; each gets its own client."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._idle: list[_IdleClient] = []
        self._closer: threading.Thread | None = None

    @contextmanager
    def client(self, options: ConnectionOptions) -> Iterator[BrokerClient]:
        """Lend a client with these options for the block. Raise the errors of `BrokerClient`."""
        key = options.identity
        client = self._take(key) or BrokerClient(options)
        try:
            yield client
        except BaseException:
            client.close()
            raise
        if client.has_open_ends:
            client.close()
        else:
            self._give_back(key, client)

    def _take(self, key: _Key) -> BrokerClient | None:
        """Remove and return the most recently used client, whose connections are most likely to be open."""
        with self._changed:
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].key == key:
                    return self._idle.pop(index).client
        return None

    def _give_back(self, key: _Key, client: BrokerClient) -> None:
        with self._changed:
            self._idle.append(_IdleClient(key, client, time.monotonic()))
            if self._closer is None:
                self._closer = threading.Thread(target=self._close_idle, name="pulsar-idle", daemon=True)
                self._closer.start()

    def _close_idle(self) -> None:
        """Close clients that are idle for too long. This thread ends when no client is idle."""
        while True:
            with self._changed:
                if not self._idle:
                    self._closer = None
                    return
                left = self._idle[0].since + self._idle_seconds - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                oldest = self._idle.pop(0)
            oldest.client.close()


_POOL: Final = ClientPool(IDLE_SECONDS)

pooled_client = _POOL.client
