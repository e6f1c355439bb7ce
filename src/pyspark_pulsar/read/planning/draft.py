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
    """The unfinished plan of one topic partition.

    The text of each field names the step of `planner` that sets the field.
    """

    request: RangeRequest
    """The requested range."""
    tiered: RangeRequest | None = None
    """Set by the step `tables`: the part of the range that is in the topic's table."""
    rest: RangeRequest = field(init=False)
    """Set by the step `tables`: the part for the topic's ledgers.

    The step `narrowing` removes ledgers outside the window.
    """
    ledgers: TopicLedgers | None = None
    """Set by the step `ledgers`; None if the ledgers are unknown. The step `placement` adds their striping."""
    files: list[FileRange] = field(default_factory=list)
    """Set by the step `ranges`: one range for each group of the table's files."""
    parts: list[LedgerRange] = field(default_factory=list)
    """Set by the step `ranges`: one range for each ledger. The step `placement` sets the location of each range."""
    splits: tuple[Split, ...] = ()
    """Set by the step `packing`: the finished splits, in order."""

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
