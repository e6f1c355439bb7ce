"""The step `commit` of a round. The step commits files and positions together, and returns the round's result."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.history.columnar.table import ColumnarTable, TableMoved
from pyspark_pulsar.history.columnar.writing.writer import WrittenFile
from pyspark_pulsar.history.tiering.ledgers.complete_ledgers import CompletePart
from pyspark_pulsar.model.topic import TopicName, TopicPartition

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The result of a round."""

    topic: TopicName
    table: str
    parts: Mapping[TopicPartition, CompletePart] = field(default_factory=dict)
    """The committed parts. The mapping is empty if no ledger was complete, or if another process committed first."""
    files: int = 0
    rows: int = 0
    size: int = 0
    """The total size of the files in bytes."""
    is_lost_race: bool = False
    left_over: bool = False
    """True if some closed ledgers with entries are not tiered after this round.

    Such a ledger waits for the end of a transaction, for the last chunk of a message, or only for the next round.
    """

    @property
    def is_done(self) -> bool:
        """Return whether no complete ledger was left to tier. After a lost race, the result is false."""
        return not self.is_lost_race and all(part.is_empty for part in self.parts.values())

    @property
    def took_all(self) -> bool:
        """Return whether the round tiered all ledgers that were complete at its start."""
        return not self.is_lost_race and not any(part.is_cut for part in self.parts.values())


def commit_parts(
    topic: TopicName,
    table: ColumnarTable,
    parts: Mapping[TopicPartition, CompletePart],
    files: Sequence[WrittenFile],
) -> RoundResult:
    """Commit the files of all parts, together with the positions at which the parts end. Log the result.

    Raises:
        ProtocolError: Some files belong to another topic.
        ColumnsUnavailable: The table cannot be reached.

    """
    foreign = {str(file.partition) for file in files if file.partition.topic != topic}
    if foreign:
        raise ProtocolError(
            f"table {table.name}: expected files of {topic}, got files of {', '.join(sorted(foreign))}. Nothing is "
            f"committed, and upkeep will delete the files; report this as a bug"
        )
    positions = table.positions.with_partitions({partition: part.tiered for partition, part in parts.items()})
    try:
        table.commit(files, positions)
    except TableMoved as moved:
        return log_lost_race(topic, table.name, moved, len(files))
    rows, size = sum(file.rows for file in files), sum(file.size for file in files)
    _log.info("Committed %d rows in %d files: %s, table %s", rows, len(files), topic, table.name)
    return RoundResult(topic, table.name, parts, len(files), rows, size)


def log_lost_race(topic: TopicName, table: str, moved: TableMoved, files: int = 0) -> RoundResult:
    """Log that another process committed first, and return the round's result."""
    _log.info(
        "Committed nothing, because another process committed first (%s); upkeep will delete %d files: table %s",
        moved,
        files,
        table,
    )
    return RoundResult(topic, table, is_lost_race=True)
