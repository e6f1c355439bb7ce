"""Which table is a topic's, and where tables are: what the options `tierCatalog` and `tierTable` say. Driver only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Final

from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import TierMismatch
from pyspark_pulsar.history.columnar.table import ColumnarTable, TableCatalog
from pyspark_pulsar.history.columnar.tier_note import catalog_place
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions

DELTA: Final = "delta"
_NAME: Final = "name"
_DEFAULT_NAME: Final = "default"
_AT_ONCE: Final = 8
_OTHER: Final = re.compile(r"[^0-9A-Za-z_]")


_OPENING: Final = Lock()
"""Opening a catalog may make its tables, which is not for two threads at once."""


class TopicTables:
    """The tables of topics, by the options of a read. Used by one thread."""

    def __init__(self, options: ReadOptions) -> None:
        """Connects to nothing."""
        self._template = options.tier_table
        self._settings = (tuple(options.tier_catalog), tuple(options.tier_catalog_secrets))

    @property
    def catalog(self) -> TableCatalog:
        """Raises the errors of `table_catalog`."""
        return table_catalog(*self._settings)

    def identifier(self, topic: TopicName) -> str:
        """The name of its table: `namespace.table`."""
        topic = topic.without_partition()
        named = {
            "tenant": _letters(topic.namespace.tenant),
            "namespace": _letters(topic.namespace.name),
            "topic": _letters(topic.local),
        }
        return self._template.format_map(named)

    @property
    def catalog_place(self) -> dict[str, str]:
        """Where the catalog is, without secrets."""
        settings, secrets = self._settings
        return catalog_place({**dict(settings), **dict(secrets)})

    def place(self, topic: TopicName) -> str:
        """Where the topic's table is looked for, as errors show it."""
        return f"table {self.identifier(topic)} of catalog {json.dumps(self.catalog_place)}"

    def load(self, topic: TopicName) -> ColumnarTable | None:
        """The topic's table; None without one. Raises `ColumnsUnavailable`, `TierMismatch`."""
        return self._checked(topic, self.catalog.load(self.identifier(topic)))

    def load_all(self, topics: Iterable[TopicName]) -> dict[TopicName, ColumnarTable]:
        """Of those that have one. Raises as `load`."""
        names = {topic.without_partition(): self.identifier(topic) for topic in topics}
        present = self.catalog.present(names.values())
        wanted = {topic: identifier for topic, identifier in names.items() if identifier in present}
        tables = dict(
            zip(wanted, map_concurrently(self.catalog.load, wanted.values(), _AT_ONCE), strict=True)
        )
        checked = {topic: self._checked(topic, table) for topic, table in tables.items()}
        return {topic: table for topic, table in checked.items() if table is not None}

    def _checked(self, topic: TopicName, table: ColumnarTable | None) -> ColumnarTable | None:
        if table is None:
            return None
        expected = str(topic.without_partition())
        if table.topic != expected:
            got = "one that is no tier" if table.topic is None else f"the tier of {table.topic}"
            raise TierMismatch(
                f"table {table.name}: expected the tier of topic {expected}, got {got}; choose other names by option "
                f"tierTable, or drop or rename the table"
            )
        return table


def table_catalog(
    settings: tuple[tuple[str, str], ...], secrets: tuple[tuple[str, str], ...]
) -> TableCatalog:
    """The catalog that these settings describe: `type` says which; Delta tables have none, and lie in a folder. Raises
    `OptionError` for settings that no catalog has, `PrerequisiteMissing`, `ColumnsUnavailable`."""
    with _OPENING:
        return _opened(tuple(sorted({**dict(settings), **dict(secrets)}.items())))


@lru_cache(maxsize=16)
def _opened(settings: tuple[tuple[str, str], ...]) -> TableCatalog:
    """One for each process and settings: a catalog keeps connections, and one in memory keeps its tables."""
    given: Mapping[str, str] = dict(settings)
    if given.get("type") == DELTA:
        from pyspark_pulsar.history.columnar.delta.table import DeltaFolder

        return DeltaFolder.open(given)
    from pyspark_pulsar.history.columnar.iceberg.catalog import IcebergCatalog

    return IcebergCatalog.open(
        given.get(_NAME, _DEFAULT_NAME), {k: v for k, v in given.items() if k != _NAME}
    )


def _letters(text: str) -> str:
    """What every catalog and engine takes as a name."""
    return _OTHER.sub("_", text)
