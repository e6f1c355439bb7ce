"""How the catalog's process reaches Pulsar: clients that are opened when first needed, and kept."""

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

_AT_ONCE: Final = 16
_BRIEF_CONNECT_MS: Final = 2_000
_BRIEF_MS: Final = 15_000


class Cluster:
    """One for each process; connections that broke are opened again. Close it, or use it as a context manager."""

    def __init__(self, settings: CatalogSettings) -> None:
        """Touches nothing yet."""
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
        """Used by the thread that answers; several threads may ask it, but not under `until`."""
        return BrokerClient.for_planning(self.settings.connection)

    @property
    def has_admin(self) -> bool:
        return self.settings.connection.admin_url is not None

    @cached_property
    def admin(self) -> AdminClient:
        """Raises `OptionError` without `admin.url`."""
        self._require_admin()
        return AdminClient.for_planning(self.settings.connection, threads=_AT_ONCE)

    @cached_property
    def brief_admin(self) -> AdminClient:
        """The same for what a query waits for: it gives up within seconds. Raises `OptionError`."""
        self._require_admin()
        connection = self.settings.connection
        options = replace(
            connection,
            connection_timeout_ms=min(_BRIEF_CONNECT_MS, connection.connection_timeout_ms),
            operation_timeout_ms=min(_BRIEF_MS, connection.operation_timeout_ms),
        )
        return AdminClient(options, patience_ms=_BRIEF_CONNECT_MS, threads=_AT_ONCE)

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """For questions to the admin REST API that do not wait for each other."""
        return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pulsar-catalog")

    @cached_property
    def known_files(self) -> KnownFiles:
        """Of topics' tables. Used by the thread that answers."""
        return KnownFiles()

    def _require_admin(self) -> None:
        if not self.has_admin:
            raise OptionError(
                "setting 'admin.url' is missing: expected the address of the admin REST API, over which this is asked "
                "or done; without it tables can be read and written, and nothing else"
            )
