"""The Pulsar clients of the catalog's process. A client is opened on its first use, and stays open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Final, Self

from pyspark_pulsar.catalog.scan.known_files import KnownFiles
from pyspark_pulsar.catalog.settings import CatalogSettings
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError

_THREADS: Final = 16
_BRIEF_CONNECT_MS: Final = 2_000
_BRIEF_MS: Final = 15_000


class Cluster:
    """The clients of one process. A client reconnects after a failure.

    The caller closes the cluster, or uses the cluster as a context manager.
    """

    def __init__(self, settings: CatalogSettings) -> None:
        """Store the settings, without opening a connection."""
        self.settings = settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        opened = self.__dict__
        if "threads" in opened:
            self.threads.shutdown(wait=False, cancel_futures=True)
        if "client" in opened:
            self.client.close()
        for name in ("admin", "brief_admin"):
            if name in opened:
                opened[name].close()

    @cached_property
    def client(self) -> BrokerClient:
        """Return the broker client.

        Several threads can send requests at the same time. Only the thread that answers the JVM's calls is allowed to
        use `BrokerClient.until`.
        """
        return BrokerClient.for_planning(self.settings.connection)

    @property
    def has_admin(self) -> bool:
        return self.settings.connection.admin_url is not None

    @cached_property
    def admin(self) -> AdminClient:
        """Return the admin client. Raises `OptionError` without `admin.url`."""
        self._require_admin()
        return AdminClient.for_planning(self.settings.connection, threads=_THREADS)

    @cached_property
    def brief_admin(self) -> AdminClient:
        """Return an admin client with short timeouts, for requests for which a query waits.

        Raises:
            OptionError: `admin.url` is not set.

        """
        self._require_admin()
        connection = self.settings.connection
        options = replace(
            connection,
            connection_timeout_ms=min(_BRIEF_CONNECT_MS, connection.connection_timeout_ms),
            operation_timeout_ms=min(_BRIEF_MS, connection.operation_timeout_ms),
        )
        return AdminClient(options, patience_ms=_BRIEF_CONNECT_MS, threads=_THREADS)

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """Return the thread pool for independent requests to the admin REST API."""
        return ThreadPoolExecutor(_THREADS, thread_name_prefix="pulsar-catalog")

    @cached_property
    def known_files(self) -> KnownFiles:
        """Return the cache of table files. Only the thread that answers the JVM's calls can use the cache."""
        return KnownFiles()

    def _require_admin(self) -> None:
        if not self.has_admin:
            raise OptionError(
                "setting 'admin.url' is missing: expected the address of the admin REST API, because without this "
                "address tables can only be read and written; set admin.url"
            )
