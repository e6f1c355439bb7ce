"""The service of the catalog's process (`spark.service`), which runs one call of `catalog.process.calls` at a time.

Errors of calls are converted to Spark's kinds of errors. The first frame contains the catalog's name and its settings:
`{"catalog": name, "settings": {...}}`. The JVM waits for the answer to this frame, so this module imports only the
modules that the answer needs.
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
    """The service of one catalog. Only one thread uses the catalog's cluster."""

    threads = 1
    idle_seconds: float | None = 600.0

    _settings: CatalogSettings
    _cluster: Cluster

    def start(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        catalog, texts = settings.get("catalog"), settings.get("settings")
        if not isinstance(catalog, str) or not isinstance(texts, dict):
            raise OptionError(
                "the first frame of the catalog process: expected the catalog's name and its settings, got another "
                "document; use the jar and the Python package of the same version"
            )
        self._settings = parse_settings(catalog, texts)
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
    """Return Spark's kind of an error, which depends on the error and the call."""
    changes = call.startswith(("create_", "alter_", "drop_"))
    if isinstance(fault, TopicNameError) and not call.startswith("create_"):
        about_table = call.endswith("_table") or call in ("table_properties", "rows")
        return "NoSuchTable" if about_table else "NoSuchNamespace"
    if changes and isinstance(fault, (OptionError, SchemaError)):
        return "Unsupported"
    return next((kind for leaf, kind in _KINDS if isinstance(fault, leaf)), FAILED)
