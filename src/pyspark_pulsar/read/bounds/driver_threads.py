"""Driver threads that read entries. Each thread has its own client, because only one thread may use a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.runtime import Future, ThreadPoolExecutor, threading

AT_ONCE: Final = 8

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class DriverThreads:
    """A pool of threads, each with its own client, which connects at first use. Used by one thread."""

    def __init__(self, options: ReadOptions, name: str) -> None:
        self._options = options
        self._clients: list[BrokerClient] = []
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=name)
        self.is_closed = False

    def map(self, work: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
        """Apply `work` to the items, and return the answers in the order of `items`.

        The first error is raised. After an error, work that has not started yet is canceled.
        """
        return list(self._pool.map(work, items))

    def submit(self, work: Callable[[Item], Answer], item: Item) -> Future[Answer]:
        """Start `work` for the item, and return its future answer."""
        return self._pool.submit(work, item)

    def client(self) -> BrokerClient:
        """Return the client of the calling thread."""
        client: BrokerClient | None = getattr(self._own, "client", None)
        if client is None:
            client = self._own.client = BrokerClient(self._options)
            self._clients.append(client)
        return client

    def close(self) -> None:
        """Close all clients. Running work should check `is_closed`."""
        self.is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for client in self._clients:
            client.close()
