"""What a planner knows of topics' tables, which hold their history as columns. Driver only.

A table is loaded when a range is planned that begins before the ledger that is written to, and kept for a minute:
tiering only moves on, and what is tiered stays readable, since files that a table no longer names are kept for days.
Before rows count as lost the table is loaded anew.

Where Spark's own scan reads a table (`catalog.scan.tier_scan`), it says up to where (option `behindTable`), and that
alone is known of it: `PositionsOfTable`. What the planner concludes from the end of a table is the same then.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from pyspark_pulsar.errors import OptionError, TierMismatch
from pyspark_pulsar.history.columnar.data_file import DataFile
from pyspark_pulsar.history.columnar.positions import TieredPartition, TieredPositions
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.tier_note import TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.time_window import TimeWindow
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, COLUMNS
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.tables.file_range import FileRange, file_ranges
from pyspark_pulsar.schema.read_schema import ReadSchema

_log: Final = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS: Final = 60.0
_ANY: Final = -2
"""Files that may have rows of several topic partitions."""


def uses_tables(options: ReadOptions) -> bool:
    """Whether the options let a read take rows of topics' tables, or begin behind one."""
    if options.behind_table is not None:
        return True
    return options.names_tables and options.read_from in (AUTO, COLUMNS) and not options.read_compacted


def for_schema(options: ReadOptions, schema: ReadSchema) -> ReadOptions:
    """The options of a read of `schema`: without tables where it shows fields that tables lack, such as a record inside
    itself. Raises OptionError where the rows are to come from a table only."""
    if not schema.value.shows_more or not uses_tables(options) or options.behind_table is not None:
        return options
    if options.read_from == COLUMNS:
        raise OptionError(
            "option 'readFrom': expected auto, since tables lack the fields inside themselves or in raw form that the "
            f"query asks for, got {COLUMNS}; leave it out, or ask for other columns"
        )
    _log.warning(
        "topics' tables lack fields that the query asks for: all rows are read from brokers and bookies"
    )
    return replace(options, tier_catalog=(), tier_catalog_secrets=())


@dataclass(slots=True)
class _KnownTable:
    """None: the topic had none."""

    table: ColumnarTable | None
    loaded: float
    by_partition: dict[int, list[DataFile]] | None = None

    def files(self, partition: int) -> Sequence[DataFile]:
        if self.table is None:
            return ()
        if self.by_partition is None:
            self.by_partition = _by_partition(self.table.files())
        return self.by_partition.get(partition, []) + self.by_partition.get(_ANY, [])


class KnownTables:
    """Kept by a planner. Used by one thread."""

    def __init__(self, options: ReadOptions, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds. Raises the errors of `TopicTables`."""
        self._tables = TopicTables(options)
        self._clock = clock
        self._known: dict[TopicName, _KnownTable] = {}
        self._lock = Lock()

    def refresh(self, partitions: Iterable[TopicPartition], older_than: float = _LOOK_AGAIN_SECONDS) -> None:
        """Load the tables of topics of which none was loaded for so many seconds. Raises `ColumnsUnavailable`,
        `TierMismatch`, `ProtocolError`."""
        now = self._clock()
        stale = {
            partition.topic
            for partition in partitions
            if partition.topic not in self._known or now - self._known[partition.topic].loaded > older_than
        }
        if not stale:
            return
        loaded = self._tables.load_all(stale)
        for topic in stale:
            table, former = loaded.get(topic), self._known.get(topic)
            is_same = former and former.table and table and former.table.version == table.version
            if former is not None and is_same:
                former.loaded = now
            else:
                self._known[topic] = _KnownTable(table, now)

    def of(self, partition: TopicPartition) -> TieredPartition | None:
        """As far as is known; None where nothing is tiered."""
        known = self._known.get(partition.topic)
        return None if known is None or known.table is None else known.table.positions.of(partition)

    def table(self, partition: TopicPartition) -> ColumnarTable | None:
        known = self._known.get(partition.topic)
        return None if known is None else known.table

    def is_known(self, partition: TopicPartition) -> bool:
        """Whether the catalog was asked for the topic's table, and answered."""
        return partition.topic in self._known

    def id(self, partition: TopicPartition) -> str | None:
        """The identity of the topic's table; None where there is no table."""
        table = self.table(partition)
        return None if table is None else table.id

    def place(self, topic: TopicName) -> str:
        """Where the topic's table is looked for, as errors show it."""
        return self._tables.place(topic)

    def check(
        self, partition: TopicPartition, ledgers: TopicLedgers, note: Callable[[], TierNote | None]
    ) -> None:
        """Raise `TierMismatch` where the topic was deleted and made again since its table was written. `note`: as
        `check_same_topic` takes it."""
        tiered, table = self.of(partition), self.id(partition)
        if tiered is not None and table is not None:
            check_same_topic(partition, tiered, (self.place(partition.topic), table), ledgers, note)

    def ranges(
        self, partition: TopicPartition, start: Position, end: Position, window: TimeWindow
    ) -> list[FileRange]:
        """What the table holds of a range, all of which is tiered; any thread may ask. Raises `ColumnsUnavailable`."""
        known = self._known[partition.topic]
        if known.table is None:
            return []
        return file_ranges(known.table.rows, partition, self.files(partition), start, end, window)

    def files(self, partition: TopicPartition) -> Sequence[DataFile]:
        """Those of a known topic's table that may have rows of it; any thread may ask. Raises `ColumnsUnavailable`."""
        with self._lock:
            return self._known[partition.topic].files(partition.index)


class PositionsOfTable(KnownTables):
    """Of one table that somebody else reads: the positions at which he ends."""

    def __init__(self, document: str) -> None:
        """`document`: of option `behindTable`, as `behind_table` writes it. Raises `ProtocolError`."""
        named = json.loads(document)
        self._name, self._id = str(named.get("table")), str(named.get("id"))
        self._positions = TieredPositions.from_json(document, "option 'behindTable'")

    def refresh(self, partitions: Iterable[TopicPartition], older_than: float = 0.0) -> None:
        """Nothing: another state of the table has other rows."""

    def of(self, partition: TopicPartition) -> TieredPartition | None:
        return self._positions.of(partition)

    def table(self, partition: TopicPartition) -> ColumnarTable | None:  # noqa: ARG002
        return None

    def is_known(self, partition: TopicPartition) -> bool:  # noqa: ARG002
        return True

    def id(self, partition: TopicPartition) -> str | None:  # noqa: ARG002
        return self._id

    def place(self, topic: TopicName) -> str:  # noqa: ARG002
        return f"table {self._name}"

    def ranges(
        self, partition: TopicPartition, start: Position, end: Position, window: TimeWindow
    ) -> list[FileRange]:
        raise NotImplementedError("somebody else reads the table")


def known_tables(options: ReadOptions) -> KnownTables:
    """What there is to know by these options. Raises the errors of `TopicTables`, `ProtocolError`."""
    return KnownTables(options) if options.behind_table is None else PositionsOfTable(options.behind_table)


def behind_table(name: str, identity: str, positions: TieredPositions) -> str:
    """Return for option `behindTable` the name, the identity and the positions of a table."""
    return json.dumps({"table": name, "id": identity, **json.loads(positions.to_json())})


def check_same_topic(
    partition: TopicPartition,
    tiered: TieredPartition,
    table: tuple[str, str],
    ledgers: TopicLedgers,
    note: Callable[[], TierNote | None],
) -> None:
    """Raise `TierMismatch` unless the topic partition is the one of which the table has rows.

    Args:
        partition: The topic partition.
        tiered: What the table says of it.
        table: Where the table is, as errors show it, and its identity.
        ledgers: The topic partition's ledgers now.
        note: Called where the time of creation differs: returns what the topic says of its table.

    """
    if tiered.created in (None, ledgers.created):
        return
    place, identity = table
    if any(ledger.id == tiered.end.ledger for ledger in ledgers.ledgers):
        # A cluster gives an id of a ledger once, but another cluster gives it too.
        known = note()
        if known is not None and known.id == identity:
            # It is the same topic, and its metadata was moved.
            return
    raise TierMismatch(
        f"{partition}: expected the topic of {place}, which was made at {tiered.created}, got one that was made at "
        f"{ledgers.created}: it was deleted and made again; drop or rename the table (pyspark-pulsar tier drop), or "
        f"read without tierCatalog"
    )


def _by_partition(files: Iterable[DataFile]) -> dict[int, list[DataFile]]:
    by_partition: dict[int, list[DataFile]] = {}
    for file in files:
        bounds = file.partitions
        number = bounds[0] if bounds is not None and bounds[0] == bounds[1] else _ANY
        by_partition.setdefault(number, []).append(file)
    return by_partition
