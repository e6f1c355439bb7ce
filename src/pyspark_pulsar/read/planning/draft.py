"""The draft of one topic partition's plan, which the planner completes step by step. Driver only; no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.planning.ledgers.ledger_range import LedgerRange
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.tables.file_range import FileRange
from pyspark_pulsar.read.split import Split


@dataclass(slots=True)
class PartitionDraft:
    """The unfinished plan of one topic partition. Each step of `planner` sets the fields whose text names the step."""

    request: RangeRequest
    """The requested range."""
    tiered: RangeRequest | None = None
    """Step tables: the part of the range that the topic's table holds."""
    rest: RangeRequest = field(init=False)
    """Step tables: the part for the topic's ledgers. Step narrowing removes ledgers outside the window."""
    ledgers: TopicLedgers | None = None
    """Step ledgers: None if they are unknown. Step placement adds what it learns about them."""
    files: list[FileRange] = field(default_factory=list)
    """Step ranges: one range for each group of the table's files."""
    parts: list[LedgerRange] = field(default_factory=list)
    """Step ranges: one range for each ledger. Step placement sets the location of each."""
    splits: tuple[Split, ...] = ()
    """Step packing: the finished splits, in order."""

    def __post_init__(self) -> None:
        self.rest = self.request

    @property
    def partition(self) -> TopicPartition:
        return self.request.partition

    @property
    def narrowed(self) -> RangeRequest:
        """The union of the table's range and the ledgers' range."""
        return self.rest if self.tiered is None else self.tiered.joined(self.rest)

    @property
    def ranges(self) -> list[LedgerRange | FileRange]:
        """The ranges to read, in order."""
        return [*self.files, *self.parts]
