"""A pool of broker clients, which the tasks of one worker process use one after another.

A Python worker of Spark runs one task after another, mostly for the same query. Without a pool, each task would connect
to the brokers, authenticate, and look up its topics. For a small micro-batch, these steps need more round trips than
reading the rows.

    state | use                                    | event                                            | next state
    lent  | one block of `pooled_client`           | the end of the block, with no consumer or        | idle
          |                                        | producer left open                               |
          |                                        | an error in the block, or a consumer or producer | closed
          |                                        | left open                                        |
    idle  | none; its connections answer pings     | the start of a block with the same options       | lent
          |                                        | `IDLE_SECONDS` without use                       | closed

If a task fails to close a consumer or producer, the pool closes the client when the task ends. Closing the client
also closes the consumer or producer. An idle client can have outdated owners of topics in its cache. An outdated owner
refuses requests, and `BrokerClient` then looks up the topic again.

Each process has one pool. A process that is forked after a client was lent would share the sockets of this client.
Spark avoids shared sockets, because Spark forks workers from a process that runs no task.
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
    """A pool of idle broker clients. Several threads can share a pool, and each thread gets its own client."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._idle: list[_IdleClient] = []
        self._closer: threading.Thread | None = None

    @contextmanager
    def client(self, options: ConnectionOptions) -> Iterator[BrokerClient]:
        """Lend a client with these options to a `with` block. A new client raises the errors of `BrokerClient`."""
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
        """Close each client after `idle_seconds` without use. This thread ends when no client is idle."""
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
