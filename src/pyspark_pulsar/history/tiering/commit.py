"""Step `commit` of a round: files and positions at once, and what the round then has done."""

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
    """What a round has committed."""

    topic: TopicName
    table: str
    parts: Mapping[TopicPartition, CompletePart] = field(default_factory=dict)
    """Empty where there was nothing to do, or another process was first."""
    files: int = 0
    rows: int = 0
    size: int = 0
    """Bytes of the files."""
    is_lost_race: bool = False
    left_over: bool = False
    """Whether closed ledgers with entries are not tiered: an open transaction or a chunked message holds them back, or
    they are for the next round."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do for now."""
        return not self.is_lost_race and all(part.is_empty for part in self.parts.values())

    @property
    def took_all(self) -> bool:
        """Whether it took all that was complete when it began."""
        return not self.is_lost_race and not any(part.is_cut for part in self.parts.values())


def commit_parts(
    topic: TopicName,
    table: ColumnarTable,
    parts: Mapping[TopicPartition, CompletePart],
    files: Sequence[WrittenFile],
) -> RoundResult:
    """Commit the files of all parts, with the positions up to which they reach.

    Raises:
        ProtocolError: Files are of another topic.
        ColumnsUnavailable: The table cannot be reached.

    """
    foreign = {str(file.partition) for file in files if file.partition.topic != topic}
    if foreign:
        raise ProtocolError(
            f"table {table.name}: expected files of {topic}, got some of {', '.join(sorted(foreign))}; nothing is "
            f"committed, and the files are left to the upkeep"
        )
    positions = table.positions.replaced({partition: part.tiered for partition, part in parts.items()})
    try:
        table.commit(files, positions)
    except TableMoved as moved:
        return lost_race(topic, table.name, moved, len(files))
    rows, size = sum(file.rows for file in files), sum(file.size for file in files)
    _log.info("table %s: %d rows of %s in %d files", table.name, rows, topic, len(files))
    return RoundResult(topic, table.name, parts, len(files), rows, size)


def lost_race(topic: TopicName, table: str, moved: TableMoved, files: int = 0) -> RoundResult:
    """Return the result of a round that another process was faster than."""
    _log.info(
        "table %s: somebody else has committed meanwhile (%s); %d files are left to the upkeep",
        table,
        moved,
        files,
    )
    return RoundResult(topic, table, is_lost_race=True)
