"""Answers `catalog.process.calls` one at a time (`spark.service`), with errors that Spark knows.

The first frame holds the catalog's name and its settings: `{"catalog": name, "settings": {...}}`. Imported here is what
the answer to that frame needs, and no more, because the JVM waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.catalog.settings import CatalogSettings, parse_settings
from pyspark_pulsar.errors import (
    CatalogUnsupported,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    OptionError,
    PermissionDenied,
    PulsarError,
    SchemaError,
    TopicExistsError,
    TopicNameError,
    TopicNotFoundError,
)
from pyspark_pulsar.spark.service import FAILED, Answer, describe_error, find_call

if TYPE_CHECKING:
    from pyspark_pulsar.catalog.cluster import Cluster

_KINDS: Final = (
    (TopicNotFoundError, "NoSuchTable"),
    (TopicExistsError, "TableExists"),
    (NamespaceNotFoundError, "NoSuchNamespace"),
    (NamespaceExistsError, "NamespaceExists"),
    (NamespaceNotEmptyError, "NamespaceNotEmpty"),
    (CatalogUnsupported, "Unsupported"),
    (PermissionDenied, "Denied"),
)


class CatalogService:
    """The service of one catalog. A cluster of the catalog is used by one thread."""

    threads = 1
    idle_seconds: float | None = 600.0

    _settings: CatalogSettings
    _cluster: Cluster

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        catalog, given = settings.get("catalog"), settings.get("settings")
        if not isinstance(catalog, str) or not isinstance(given, dict):
            raise OptionError("the first frame: expected the catalog's name and its settings, got another")
        self._settings = parse_settings(catalog, given)
        return {}

    def open(self) -> None:
        from pyspark_pulsar.catalog.cluster import Cluster

        self._cluster = Cluster(self._settings)

    def answer(self, call: str, arguments: Mapping[str, Any], body: bytes) -> Answer:
        from pyspark_pulsar.catalog.process.calls import CALLS

        del body
        return find_call(CALLS, call)(self._cluster, **arguments), b""

    def error(self, call: str, fault: Exception) -> dict[str, str]:
        return describe_error(fault, lambda known: _kind(call, known))

    def close(self) -> None:
        self._cluster.close()


def _kind(call: str, fault: PulsarError) -> str:
    """Return the kind of an error, which also depends on the call."""
    changes = call.startswith(("create_", "alter_", "drop_"))
    if isinstance(fault, TopicNameError) and not call.startswith("create_"):
        about_table = call.endswith("_table") or call in ("table_properties", "rows")
        return "NoSuchTable" if about_table else "NoSuchNamespace"
    if changes and isinstance(fault, (OptionError, SchemaError)):
        return "Unsupported"
    return next((kind for leaf, kind in _KINDS if isinstance(fault, leaf)), FAILED)
