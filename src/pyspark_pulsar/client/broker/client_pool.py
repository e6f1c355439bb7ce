"""Broker clients that outlive the task that opened them.

A worker of Spark runs task after task, most of them for the same query. Each would connect to the brokers anew, prove
who it is, and look its topics up: more round trips than a small micro-batch needs for its rows.

    state | is                                     | ends with                                        | and then is
    lent  | in one block of `pooled_client` alone  | the block's end, with nothing left open on the   | idle
          |                                        | connections                                      |
          |                                        | a fault in the block, or something left open     | closed
    idle  | nobody's; its connections answer pings | a block with the same options                    | lent
          |                                        | `IDLE_SECONDS` without one                       | closed

So what a task leaves open by mistake ends with it, as it does when a client is the task's own. What an idle client
remembers of who owns a topic may be old: brokers refuse then, and `BrokerClient` looks the topic up again.

A process has one pool. Processes that are forked after a client was lent would share its sockets; Spark forks its
workers from a process that runs no task.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import ConnectionOptions

IDLE_SECONDS: Final = 60.0

_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _IdleClient:
    key: _Key
    client: BrokerClient
    since: float


class ClientPool:
    """Safe to use from several threads, each of which gets a client of its own."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._idle: list[_IdleClient] = []
        self._closer: threading.Thread | None = None

    @contextmanager
    def client(self, options: ConnectionOptions) -> Iterator[BrokerClient]:
        """One that reaches brokers as `options` say, for the block alone. Raises what `BrokerClient` does."""
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
        """The one that was used last, as its connections are the likeliest to live."""
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
        """A thread that lives while a client is idle."""
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
