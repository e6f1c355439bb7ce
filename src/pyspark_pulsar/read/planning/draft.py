"""One topic partition on its way from a range to splits. Driver only; no I/O."""

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
    """The draft of a `PartitionPlan`. Each step of a plan (see the head of `planner`) fills its fields."""

    request: RangeRequest
    """The range that is to be planned."""
    tiered: RangeRequest | None = None
    """Step tables: what the topic's table holds of the range."""
    rest: RangeRequest = field(init=False)
    """Step tables: what is left for the topic's ledgers. Step narrowing: this without ledgers outside the window."""
    ledgers: TopicLedgers | None = None
    """Step ledgers; None where they are not known. Step placement adds what it learns about them."""
    files: list[FileRange] = field(default_factory=list)
    """Step ranges: the ranges of the table's files."""
    parts: list[LedgerRange] = field(default_factory=list)
    """Step ranges: a range for each ledger. Step placement: the same, with the places that they are read from."""
    splits: tuple[Split, ...] = ()
    """Step packing."""

    def __post_init__(self) -> None:
        self.rest = self.request

    @property
    def partition(self) -> TopicPartition:
        return self.request.partition

    @property
    def narrowed(self) -> RangeRequest:
        """The range from the table and the ledgers together."""
        return self.rest if self.tiered is None else self.tiered.joined(self.rest)

    @property
    def ranges(self) -> list[LedgerRange | FileRange]:
        """All that is to be read, in order."""
        return [*self.files, *self.parts]
