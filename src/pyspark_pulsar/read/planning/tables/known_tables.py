"""The topics' tables that a planner has loaded. The tables contain the topics' history as columns. Driver only.

The planner loads a table when it plans a range that begins before the open ledger, and uses the loaded state for a
minute. An old state of a table is safe: tiering only appends rows, and files that a table no longer names are kept for
days. Before the planner reports lost rows, it loads the table again.

If Spark's own scan reads a table (`catalog.scan.tier_scan`), the option `behindTable` contains the positions at which
the scan ends. Then the planner uses only these positions (`PositionsOfTable`), and draws the same conclusions from them
as from a table's end.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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
from pyspark_pulsar.runtime import threading, time
from pyspark_pulsar.schema.read_schema import ReadSchema

_log: Final = logging.getLogger(__name__)

_REFRESH_SECONDS: Final = 60.0
_ANY: Final = -2
"""The key of files that may have rows of several topic partitions."""


def uses_tables(options: ReadOptions) -> bool:
    """Return whether the options allow a read to use rows of topics' tables, or to begin at the end of a table."""
    if options.behind_table is not None:
        return True
    return options.names_tables and options.read_from in (AUTO, COLUMNS) and not options.read_compacted


def for_schema(options: ReadOptions, schema: ReadSchema) -> ReadOptions:
    """Return the options for reading `schema`: without tables if the schema contains fields that tables do not contain.

    Such a field is, for example, a record inside itself. `OptionError` is raised if `readFrom` allows only rows of a
    table.
    """
    if not schema.value.shows_more or not uses_tables(options) or options.behind_table is not None:
        return options
    if options.read_from == COLUMNS:
        raise OptionError(
            "option 'readFrom': expected auto, because tables do not contain the recursive or raw fields of the query, "
            f"got {COLUMNS}; leave the option out, or select other columns"
        )
    _log.warning(
        "All rows are read from brokers and bookies, because topics' tables lack fields that the query selects"
    )
    return replace(options, tier_catalog=(), tier_catalog_secrets=())


@dataclass(slots=True)
class _KnownTable:
    """A topic's table and the time when it was loaded; `table` is None if the topic has no table."""

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
    """The tables that one planner has loaded. Used by one thread."""

    def __init__(self, options: ReadOptions, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty cache. `clock` returns monotonic seconds. The errors of `TopicTables` are raised."""
        self._tables = TopicTables(options)
        self._clock = clock
        self._known: dict[TopicName, _KnownTable] = {}
        self._lock = threading.Lock()

    def refresh(self, partitions: Iterable[TopicPartition], older_than: float = _REFRESH_SECONDS) -> None:
        """Load the tables of topics that were not loaded within the last `older_than` seconds.

        Raises:
            ColumnsUnavailable: A catalog or a table cannot be read.
            TierMismatch: A table belongs to another topic.
            ProtocolError: A table cannot be parsed.

        """
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
            table, previous = loaded.get(topic), self._known.get(topic)
            is_same = previous and previous.table and table and previous.table.version == table.version
            if previous is not None and is_same:
                previous.loaded = now
            else:
                self._known[topic] = _KnownTable(table, now)

    def positions_of(self, partition: TopicPartition) -> TieredPartition | None:
        """Return the part of a topic partition that is in the loaded table; None if the table has no part of it."""
        known = self._known.get(partition.topic)
        return None if known is None or known.table is None else known.table.positions.get(partition)

    def table(self, partition: TopicPartition) -> ColumnarTable | None:
        known = self._known.get(partition.topic)
        return None if known is None else known.table

    def is_known(self, partition: TopicPartition) -> bool:
        """Return whether the catalog has answered a request for the topic's table."""
        return partition.topic in self._known

    def id(self, partition: TopicPartition) -> str | None:
        """Return the identity of the topic's table, or None if there is no table."""
        table = self.table(partition)
        return None if table is None else table.id

    def place(self, topic: TopicName) -> str:
        """Return the location of the topic's table, as errors show it."""
        return self._tables.place(topic)

    def check(
        self, partition: TopicPartition, ledgers: TopicLedgers, note: Callable[[], TierNote | None]
    ) -> None:
        """Raise `TierMismatch` if the topic was deleted and created again after its table was written.

        `note` is an argument of `check_same_topic`.
        """
        tiered, table = self.positions_of(partition), self.id(partition)
        if tiered is not None and table is not None:
            check_same_topic(partition, tiered, (self.place(partition.topic), table), ledgers, note)

    def ranges(
        self, partition: TopicPartition, start: Position, end: Position, window: TimeWindow
    ) -> list[FileRange]:
        """Divide a range by the files that contain its rows.

        Any thread can call the method. Raises `ColumnsUnavailable`.
        """
        known = self._known[partition.topic]
        if known.table is None:
            return []
        return file_ranges(known.table.rows, partition, self.files(partition), start, end, window)

    def files(self, partition: TopicPartition) -> Sequence[DataFile]:
        """Return the files of a loaded table that may contain rows of the topic partition.

        Any thread can call this method. Raises `ColumnsUnavailable`.
        """
        with self._lock:
            return self._known[partition.topic].files(partition.index)


class PositionsOfTable(KnownTables):
    """The positions at which Spark's own scan of a table ends. The planner does not read this table."""

    def __init__(self, document: str) -> None:
        """Parse the value of option `behindTable`, which `behind_table` writes. Raises `ProtocolError`."""
        named = json.loads(document)
        self._name, self._id = str(named.get("table")), str(named.get("id"))
        self._positions = TieredPositions.from_json(document, "option 'behindTable'")

    def refresh(self, partitions: Iterable[TopicPartition], older_than: float = 0.0) -> None:
        """Do nothing, because another state of the table has other rows."""

    def positions_of(self, partition: TopicPartition) -> TieredPartition | None:
        return self._positions.get(partition)

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
        raise NotImplementedError("expected Spark's own scan to read the table; report this as a bug")


def known_tables(options: ReadOptions) -> KnownTables:
    """Return the tables for these options. With the option `behindTable`, only the positions of its table are known.

    Raises the errors of `TopicTables`, and `ProtocolError`.
    """
    return KnownTables(options) if options.behind_table is None else PositionsOfTable(options.behind_table)


def table_end_document(name: str, identity: str, positions: TieredPositions) -> str:
    """Return the value of option `behindTable`: the name, the identity and the positions of a table."""
    return json.dumps({"table": name, "id": identity, **json.loads(positions.to_json())})


def check_same_topic(
    partition: TopicPartition,
    tiered: TieredPartition,
    table: tuple[str, str],
    ledgers: TopicLedgers,
    note: Callable[[], TierNote | None],
) -> None:
    """Raise `TierMismatch` unless the rows in the table belong to the topic partition that exists now.

    Args:
        partition: The topic partition.
        tiered: The part of the partition that is in the table, as the table describes it.
        table: The location of the table, as errors show it, and the table's identity.
        ledgers: The present ledgers of the topic partition.
        note: Returns the topic's record of its table. This function is called only if the creation times differ.

    """
    if tiered.created in (None, ledgers.created):
        return
    place, identity = table
    if any(ledger.id == tiered.end.ledger for ledger in ledgers.ledgers):
        # The id of a ledger is unique within a cluster, but another cluster uses the same ids.
        known = note()
        if known is not None and known.id == identity:
            # The topic is the same, and its metadata was moved to another cluster.
            return
    raise TierMismatch(
        f"{partition}: expected the topic of {place}, created at {tiered.created}, got a topic created at "
        f"{ledgers.created}. The topic was deleted and made again; drop or rename the table (pyspark-pulsar tier "
        f"drop), or read without tierCatalog"
    )


def _by_partition(files: Iterable[DataFile]) -> dict[int, list[DataFile]]:
    by_partition: dict[int, list[DataFile]] = {}
    for file in files:
        bounds = file.partitions
        number = bounds[0] if bounds is not None and bounds[0] == bounds[1] else _ANY
        by_partition.setdefault(number, []).append(file)
    return by_partition
