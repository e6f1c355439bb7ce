"""What of a range its topic's table holds, and what is left for the topic's ledgers. Driver only.

A table holds a topic partition from its first message up to a position (`columnar.positions`). So a range is cut in
two there:

    the range     start ............. end of the table ............. end
    from          the table's files | the topic's ledgers

Behind the table's end all is as if the range began there, but for the question whether something is lost: the ledger
with which the table ends may be gone although nothing is (`TieredPartition.is_outlived`), and nothing at all may be
left that would say that something is.

A catalog that cannot be asked leaves ranges to the ledgers with `readFrom=auto`, and a warning; but not ranges that
begin at earliest. Of these nobody could say whether retention has removed what the table holds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import ColumnsUnavailable, PermissionDenied, TierMismatch, TopicNotFoundError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.read_from import AUTO, COLUMNS
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.loss_report import report_loss
from pyspark_pulsar.read.planning.ledgers.data_loss import is_cut_off, retention_ms
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_one
from pyspark_pulsar.read.planning.tables.file_range import FileRange
from pyspark_pulsar.read.planning.tables.known_tables import KnownTables, known_tables
from pyspark_pulsar.read.planning.tables.topic_notes import TopicNotes


class TieredRanges:
    """Kept by a planner. Used by one thread."""

    def __init__(self, options: ReadOptions, admin: AdminClient, tell: Callable[[str], None]) -> None:
        """`tell`: tells the user something once. Raises the errors of `KnownTables`."""
        self.tables: KnownTables = known_tables(options)
        self._notes = TopicNotes(admin, tell)
        self._options = options
        self._admin = admin
        self._tell = tell

    def find(self, requests: Iterable[RangeRequest]) -> None:
        """Load the tables of their topics, unless they were just loaded. Raises the errors of `KnownTables.refresh`."""
        given = list(requests)
        try:
            self.tables.refresh(request.partition for request in given)
        except ColumnsUnavailable as fault:
            if self._options.read_from != AUTO or any(request.from_earliest for request in given):
                raise
            self._tell(f"tables are not looked at, and all is read from the topics' ledgers: {fault}")

    def find_newer(
        self, behind: Iterable[RangeRequest], known: Mapping[TopicPartition, TopicLedgers]
    ) -> bool:
        """Where ledgers are gone that a table as it was loaded lacks: it may have them by now. Whether one was
        loaded. Raises the errors of `KnownTables.refresh`."""
        doubtful = [
            request.partition
            for request in behind
            if (ledgers := known.get(request.partition)) is not None
            and self.tables.table(request.partition) is not None
            and is_cut_off(request.start, ledgers)
        ]
        self.tables.refresh(doubtful, 0.0)
        return bool(doubtful)

    def skip_tables(
        self, positions: Mapping[TopicPartition, Position], *, at_once: bool
    ) -> dict[TopicPartition, Position]:
        """See `SplitPlanner.skip_tables`."""
        new = [partition for partition in positions if not self.tables.is_known(partition)]
        try:
            self.tables.refresh(positions, 0.0 if at_once else math.inf)
        except ColumnsUnavailable:
            # What is planned says whether that matters.
            if self._options.read_from != AUTO:
                raise
        # Nothing is planned of a topic that has no messages, whatever it had.
        self._check_notes(
            [
                partition
                for partition in new
                if self.tables.of(partition) is None and positions[partition].is_earliest
            ]
        )
        ends = {partition: self.tables.of(partition) for partition in positions}
        return {
            partition: position if (tiered := ends[partition]) is None else max(position, tiered.end)
            for partition, position in positions.items()
        }

    def tiered(self, request: RangeRequest) -> RangeRequest | None:
        """What the topic's table holds of a range; None if it is nothing. Raises `DataLossError`, and
        `ColumnsUnavailable` where `readFrom` wants a table and there is none."""
        tiered = self.tables.of(request.partition)
        if self._options.read_from == COLUMNS and self.tables.table(request.partition) is None:
            raise ColumnsUnavailable(
                f"{request.partition}: expected a table of the topic, as readFrom=columns says, got none; tier it "
                f"(pyspark-pulsar tier run), correct tierTable, or use readFrom=auto"
            )
        if tiered is None or request.is_empty or request.start >= tiered.end:
            return None
        part = replace(request, end=min(request.end, tiered.end))
        for start, end in () if request.from_earliest else tiered.lost_in(part.start, part.end):
            report_loss(
                f"{request.partition}: expected messages from {part.start} up to {part.end}, but what was between "
                f"{start} and {end} was removed before it was tiered",
                "To go on with what is left, set failOnDataLoss=false",
                fail=self._options.fail_on_data_loss,
            )
        return part

    def rest(self, request: RangeRequest) -> RangeRequest:
        """Return what is left of a range for the topic's ledgers; nothing where `readFrom` wants the table alone."""
        tiered = self.tables.of(request.partition)
        if self._options.read_from == COLUMNS:
            return replace(request, start=request.end)
        if tiered is None or request.start >= tiered.end:
            return request
        return replace(request, start=min(tiered.end, request.end))

    def begins_at_end(self, behind: RangeRequest) -> bool:
        """Whether what is left of a range begins where the topic's table ends."""
        tiered = None if self._options.read_from == COLUMNS else self.tables.of(behind.partition)
        return tiered is not None and behind.start == tiered.end

    def check(self, requests: Iterable[RangeRequest], known: Mapping[TopicPartition, TopicLedgers]) -> bool:
        """Compare the tables with the topics that the ranges are of.

        Args:
            requests: The ranges that are asked for.
            known: The ledgers of those topic partitions that a plan needs them of.

        Returns:
            Whether tables were loaded again.

        Raises:
            TierMismatch: A topic was tiered to another table or made again, or its table lost what it had.

        """
        given = [request for request in requests if not request.is_empty]
        doubtful = [
            request.partition for request in given if self._needs_note(request, known.get(request.partition))
        ]
        is_loaded_again = self._check_notes(doubtful)
        unnoted = [partition for partition in doubtful if self._has_no_note(partition)]
        present = {**self._ledgers(unnoted), **known}
        for partition in {request.partition for request in given} & present.keys():
            self.tables.check(partition, present[partition], partial(self._notes.of, partition.topic))
        return is_loaded_again

    def _check_notes(self, partitions: Sequence[TopicPartition]) -> bool:
        """Raise `TierMismatch` where tables are not as the topics' notes say. Return whether tables were loaded
        again."""
        known = [partition for partition in partitions if self.tables.is_known(partition)]
        self._notes.refresh({partition.topic for partition in known})
        unlike = [partition for partition in known if not self._is_as_noted(partition)]
        # Both may have changed since they were read. A table that is loaded after the note is not behind it.
        self._notes.refresh({partition.topic for partition in unlike}, 0.0)
        self.tables.refresh(unlike, 0.0)
        for partition in unlike:
            self._check_note(partition)
        return bool(unlike)

    def _needs_note(self, request: RangeRequest, ledgers: TopicLedgers | None) -> bool:
        if request.partition.is_segment:
            return False
        tiered = self.tables.of(request.partition)
        if tiered is not None:
            return ledgers is None and request.start < tiered.end
        is_cut = ledgers is not None and is_cut_off(request.start, ledgers)
        return request.from_earliest or is_cut or self._options.read_from == COLUMNS

    def _is_as_noted(self, partition: TopicPartition) -> bool:
        try:
            self._check_note(partition)
        except TierMismatch:
            return False
        return True

    def _check_note(self, partition: TopicPartition) -> None:
        """Raise `TierMismatch` where the topic's note tells of another table than is known."""
        note, tiered = self._notes.of(partition.topic), self.tables.of(partition)
        if note is None:
            return
        note.check_table(partition.topic, self.tables.id(partition), self.tables.place(partition.topic))
        note.check_tiered(partition, tiered)
        if tiered is not None and self._options.read_from == COLUMNS:
            note.check_end(partition, tiered)

    def _has_no_note(self, partition: TopicPartition) -> bool:
        """Return whether only the times of creation can tell that a table is the topic's."""
        return self.tables.of(partition) is not None and self._notes.of(partition.topic) is None

    def _ledgers(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, TopicLedgers]:
        found = self._admin.map(self._ledgers_of, partitions) if partitions else ()
        return {
            partition: ledgers
            for partition, ledgers in zip(partitions, found, strict=False)
            if ledgers is not None
        }

    def _ledgers_of(self, partition: TopicPartition) -> TopicLedgers | None:
        try:
            return fetch_one(self._admin, partition)
        except PermissionDenied as fault:
            self._tell(f"it is not known whether topics were made again since they were tiered: {fault}")
        except TopicNotFoundError:
            # It was deleted since the query saw it, which is for the query to say.
            pass
        return None

    def doubtful(self, behind: RangeRequest, ledgers: TopicLedgers) -> RangeRequest | None:
        """The range in which something may be lost; None where nothing is. Raises `TierMismatch`, and the errors of
        `AdminClient`."""
        tiered = self.tables.of(behind.partition)
        if tiered is None or not self.begins_at_end(behind):
            return behind
        first = ledgers.ledgers[0].id
        kept_ms = partial(retention_ms, self._admin, behind.partition)
        if is_cut_off(behind.start, ledgers):
            if tiered.is_outlived(first, time.time_ns() // 1_000_000, kept_ms):
                return None
            note = self._notes.of(behind.partition.topic)
            if note is not None and self._options.fail_on_data_loss:
                # The table was loaded again since the ledgers are known to be gone: see `find_newer`.
                note.check_end(behind.partition, tiered)
        # What came behind the table may all be gone, so that nothing is left that says so.
        return replace(behind, end=max(behind.end, Position(first, 0)))

    def file_ranges(self, tiered: RangeRequest | None) -> list[FileRange]:
        """Of what `tiered` gave. Raises `ColumnsUnavailable`."""
        if tiered is None:
            return []
        return self.tables.ranges(tiered.partition, tiered.start, tiered.end, tiered.window)
