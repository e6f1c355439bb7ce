"""The step `placement` of a plan: choose the location of each ledger range. Driver only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, BOOKIE, BROKER
from pyspark_pulsar.read.planning.draft import PartitionDraft
from pyspark_pulsar.read.planning.early_request import EarlyRequest
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.placement.bookies import PresentBookies, present_bookies
from pyspark_pulsar.read.planning.placement.ledger_placement import find_placement


class Placer:
    """The component of a planner that sets the locations of ranges. Used by one thread."""

    def __init__(
        self, options: ReadOptions, admin: AdminClient | None, report: Callable[[str], None]
    ) -> None:
        """Create a placer. Without `admin`, every location is the broker. `report` logs a text once per planner."""
        self._options = options
        self._admin = admin
        self._report = report
        self._ahead: EarlyRequest[PresentBookies] | None = None

    @property
    def may_read_directly(self) -> bool:
        """True if ranges may be read from a location other than the broker."""
        return self._admin is not None and self._options.read_from != BROKER

    @property
    def needs_bookies(self) -> bool:
        """True if plans need to know which bookies answer."""
        return self._admin is not None and self._options.read_from in (AUTO, BOOKIE)

    def request_early(self) -> None:
        """Start to query bookies for a plan that is made soon. No error is raised."""
        if self._admin is not None and self.needs_bookies:
            self._ahead = EarlyRequest(self._admin.begin(present_bookies, self._options, self._admin))

    def place(self, drafts: Sequence[PartitionDraft]) -> dict[TopicPartition, TopicLedgers]:
        """Set the locations of the drafts' ledger ranges, and add new facts about ledgers to the drafts.

        Returns:
            The ledgers that have new facts.

        Raises:
            LedgerUnavailable: A ledger is not in the location that `readFrom` names.
            PulsarError: The errors of `AdminClient`.

        """
        touched = {
            draft.partition: (draft.ledgers, _closed_ledgers(draft))
            for draft in drafts
            if draft.ledgers is not None
        }
        if self._admin is None or not self.may_read_directly or not any(ids for _, ids in touched.values()):
            return {}
        views = any(part.is_compacted for draft in drafts for part in draft.parts)
        ahead, self._ahead = self._ahead, None
        placement, known = find_placement(self._options, self._admin, touched, views=views, ahead=ahead)
        for note in placement.notes:
            self._report(note)
        for draft in drafts:
            draft.ledgers = known.get(draft.partition)
            draft.parts = placement.locate(draft.partition, draft.parts, draft.ledgers)
        return known


def _closed_ledgers(draft: PartitionDraft) -> set[int]:
    """Return the ids of the closed ledgers in the draft's ranges."""
    return {part.ledger.id for part in draft.parts if part.ledger is not None and not part.ledger.is_open}
