"""A lookup of the tables of topics. The options `tierCatalog` and `tierTable` locate a table. Driver only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import TierMismatch
from pyspark_pulsar.history.columnar.table import ColumnarTable, TableCatalog
from pyspark_pulsar.history.columnar.tier_note import catalog_place
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.runtime import threading

DELTA: Final = "delta"
_NAME: Final = "name"
_DEFAULT_NAME: Final = "default"
_CONCURRENT_LOADS: Final = 8
_OTHER: Final = re.compile(r"[^0-9A-Za-z_]")


_OPENING: Final = threading.Lock()
"""A lock for opening catalogs. Only one thread at a time may open a catalog, because opening can create the catalog's
own database tables.
"""


class TopicTables:
    """A lookup of the tables of topics, by the options of a read. Used by one thread."""

    def __init__(self, options: ReadOptions) -> None:
        """Store the options, without connecting to the catalog."""
        self._template = options.tier_table
        self._settings = (tuple(options.tier_catalog), tuple(options.tier_catalog_secrets))

    @property
    def catalog(self) -> TableCatalog:
        """Return the catalog of the options. Raises the errors of `table_catalog`."""
        return table_catalog(*self._settings)

    def identifier(self, topic: TopicName) -> str:
        """Return the name of the topic's table, in the form `namespace.table`."""
        topic = topic.without_partition()
        named = {
            "tenant": _safe_name(topic.namespace.tenant),
            "namespace": _safe_name(topic.namespace.name),
            "topic": _safe_name(topic.local),
        }
        return self._template.format_map(named)

    @property
    def catalog_place(self) -> dict[str, str]:
        """Return the settings that locate the catalog, without secrets."""
        settings, secrets = self._settings
        return catalog_place({**dict(settings), **dict(secrets)})

    def place(self, topic: TopicName) -> str:
        """Return a description of the topic's table name and of the catalog, for error messages."""
        return f"table {self.identifier(topic)} of catalog {json.dumps(self.catalog_place)}"

    def load(self, topic: TopicName) -> ColumnarTable | None:
        """Load the topic's table.

        Returns:
            The table, or None if the topic has no table.

        Raises:
            ColumnsUnavailable: The catalog or the table cannot be read.
            TierMismatch: The table of that name does not belong to the topic.

        """
        return self._check_topic(topic, self.catalog.load(self.identifier(topic)))

    def load_all(self, topics: Iterable[TopicName]) -> dict[TopicName, ColumnarTable]:
        """Load the table of each topic that has a table. Raises the errors of `load`."""
        names = {topic.without_partition(): self.identifier(topic) for topic in topics}
        present = self.catalog.present(names.values())
        existing = {topic: identifier for topic, identifier in names.items() if identifier in present}
        tables = dict(
            zip(
                existing,
                map_concurrently(self.catalog.load, existing.values(), _CONCURRENT_LOADS),
                strict=True,
            )
        )
        checked = {topic: self._check_topic(topic, table) for topic, table in tables.items()}
        return {topic: table for topic, table in checked.items() if table is not None}

    def _check_topic(self, topic: TopicName, table: ColumnarTable | None) -> ColumnarTable | None:
        if table is None:
            return None
        expected = str(topic.without_partition())
        if table.topic != expected:
            actual = "a table of no topic" if table.topic is None else f"the table of topic {table.topic}"
            raise TierMismatch(
                f"table {table.name}: expected the table of topic {expected}, got {actual}; choose another name with "
                f"option tierTable, or drop or rename the table"
            )
        return table


def table_catalog(
    settings: tuple[tuple[str, str], ...], secrets: tuple[tuple[str, str], ...]
) -> TableCatalog:
    """Return the catalog that the settings describe. The setting `type` selects the kind of catalog.

    Delta tables have no catalog; the settings then contain the path of a folder.

    Raises:
        OptionError: The settings do not describe a catalog.
        PrerequisiteMissing: The library for the format is not installed.
        ColumnsUnavailable: The catalog cannot be reached.

    """
    with _OPENING:
        return _open_catalog(tuple(sorted({**dict(settings), **dict(secrets)}.items())))


@lru_cache(maxsize=16)
def _open_catalog(settings: tuple[tuple[str, str], ...]) -> TableCatalog:
    """Return the catalog of the settings.

    Calls with the same settings share one catalog, because a catalog has connections, or contains its tables in memory.
    """
    properties: Mapping[str, str] = dict(settings)
    if properties.get("type") == DELTA:
        from pyspark_pulsar.history.columnar.delta.table import DeltaFolder

        return DeltaFolder.open(properties)
    from pyspark_pulsar.history.columnar.iceberg.catalog import IcebergCatalog

    return IcebergCatalog.open(
        properties.get(_NAME, _DEFAULT_NAME), {k: v for k, v in properties.items() if k != _NAME}
    )


def _safe_name(text: str) -> str:
    """Replace each character that some catalog or some engine does not accept in a name."""
    return _OTHER.sub("_", text)
