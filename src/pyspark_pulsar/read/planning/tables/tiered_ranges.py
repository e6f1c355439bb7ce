"""Division of a range between the topic's table and the topic's ledgers. Driver only.

A table contains the messages of a topic partition from the first message up to a position (`columnar.positions`). So a
range is divided at this position:

    the range     start ............. end of the table ............. end
    source        the table's files | the topic's ledgers

The rest after the table's end is planned like a range that begins there. Only its check for lost messages differs, for
two reasons. The ledger in which the table ends may be removed without any loss (`TieredPartition.is_outlived`). And if
all ledgers are removed, no ledger is left that shows a loss.

If a catalog does not answer and `readFrom` is `auto`, ranges are read from the ledgers, and a warning is logged. But a
range from `earliest` is an error. Without the table, the planner cannot know whether retention has removed messages
that are in the table.
"""

from __future__ import annotations

import math
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
from pyspark_pulsar.runtime import time


class TieredRanges:
    """The component of a planner that uses topics' tables. Used by one thread."""

    def __init__(self, options: ReadOptions, admin: AdminClient, report: Callable[[str], None]) -> None:
        """Store the arguments. `report` logs a text once. The errors of `KnownTables` are raised."""
        self.tables: KnownTables = known_tables(options)
        self._notes = TopicNotes(admin, report)
        self._options = options
        self._admin = admin
        self._report = report

    def find(self, requests: Iterable[RangeRequest]) -> None:
        """Load the tables of the ranges' topics, if the loaded tables are older than a minute.

        Raises the errors of `KnownTables.refresh`.
        """
        given = list(requests)
        try:
            self.tables.refresh(request.partition for request in given)
        except ColumnsUnavailable as fault:
            if self._options.read_from != AUTO or any(request.from_earliest for request in given):
                raise
            self._report(f"all messages are read from the topics' ledgers, and none from tables: {fault}")

    def find_newer(self, rest: Iterable[RangeRequest], known: Mapping[TopicPartition, TopicLedgers]) -> bool:
        """Load tables again if ledgers after their end were removed, because a newer state may contain the rows.

        Returns whether a table was loaded. Raises the errors of `KnownTables.refresh`.
        """
        doubtful = [
            request.partition
            for request in rest
            if (ledgers := known.get(request.partition)) is not None
            and self.tables.table(request.partition) is not None
            and is_cut_off(request.start, ledgers)
        ]
        self.tables.refresh(doubtful, 0.0)
        return bool(doubtful)

    def skip_tables(
        self, positions: Mapping[TopicPartition, Position], *, at_once: bool
    ) -> dict[TopicPartition, Position]:
        """Return each position, or the end of the topic's table if that is later.

        Used by `SplitPlanner.skip_tables`.
        """
        new = [partition for partition in positions if not self.tables.is_known(partition)]
        try:
            self.tables.refresh(positions, 0.0 if at_once else math.inf)
        except ColumnsUnavailable:
            # With `auto`, a later plan raises an error if it needs the missing answer.
            if self._options.read_from != AUTO:
                raise
        # A plan does not check the record of a topic that has no messages now. So the record is checked here.
        self._check_notes(
            [
                partition
                for partition in new
                if self.tables.positions_of(partition) is None and positions[partition].is_earliest
            ]
        )
        ends = {partition: self.tables.positions_of(partition) for partition in positions}
        return {
            partition: position if (tiered := ends[partition]) is None else max(position, tiered.end)
            for partition, position in positions.items()
        }

    def tiered(self, request: RangeRequest) -> RangeRequest | None:
        """Return the part of a range that is in the topic's table, or None if the table contains no part of it.

        Raises:
            ColumnsUnavailable: With `readFrom=columns`, the topic has no table.
            DataLossError: Messages of this part were removed before they were tiered.

        """
        tiered = self.tables.positions_of(request.partition)
        if self._options.read_from == COLUMNS and self.tables.table(request.partition) is None:
            raise ColumnsUnavailable(
                f"{request.partition}: expected a table of the topic because of readFrom=columns, got none; tier the "
                f"topic (pyspark-pulsar tier run), correct tierTable, or use readFrom=auto"
            )
        if tiered is None or request.is_empty or request.start >= tiered.end:
            return None
        part = replace(request, end=min(request.end, tiered.end))
        for start, end in () if request.from_earliest else tiered.lost_in(part.start, part.end):
            report_loss(
                f"{request.partition}: expected messages from {part.start} up to {part.end}, but the messages between "
                f"{start} and {end} were removed before they were tiered",
                "To continue with the remaining messages, set failOnDataLoss=false",
                fail=self._options.fail_on_data_loss,
            )
        return part

    def rest(self, request: RangeRequest) -> RangeRequest:
        """Return the part of a range for the topic's ledgers, which is empty with `readFrom=columns`."""
        tiered = self.tables.positions_of(request.partition)
        if self._options.read_from == COLUMNS:
            return replace(request, start=request.end)
        if tiered is None or request.start >= tiered.end:
            return request
        return replace(request, start=min(tiered.end, request.end))

    def begins_at_end(self, rest: RangeRequest) -> bool:
        """Return whether `rest` begins where the topic's table ends."""
        tiered = None if self._options.read_from == COLUMNS else self.tables.positions_of(rest.partition)
        return tiered is not None and rest.start == tiered.end

    def check(self, requests: Iterable[RangeRequest], known: Mapping[TopicPartition, TopicLedgers]) -> bool:
        """Check that the tables belong to the topics of the ranges.

        Args:
            requests: The requested ranges.
            known: The ledgers of the topic partitions whose plan needs ledgers.

        Returns:
            True if tables were loaded again.

        Raises:
            TierMismatch: A topic was tiered to another table, or deleted and created again, or its table lost rows.

        """
        given = [request for request in requests if not request.is_empty]
        doubtful = [
            request.partition for request in given if self._needs_note(request, known.get(request.partition))
        ]
        is_loaded_again = self._check_notes(doubtful)
        unnoted = [partition for partition in doubtful if self._has_no_note(partition)]
        present = {**self._ledgers(unnoted), **known}
        for partition in {request.partition for request in given} & present.keys():
            self.tables.check(partition, present[partition], partial(self._notes.get, partition.topic))
        return is_loaded_again

    def _check_notes(self, partitions: Sequence[TopicPartition]) -> bool:
        """Raise `TierMismatch` if a table differs from its topic's record. Return whether tables were loaded again."""
        known = [partition for partition in partitions if self.tables.is_known(partition)]
        self._notes.refresh({partition.topic for partition in known})
        different = [partition for partition in known if not self._is_as_noted(partition)]
        # The table or the record may have changed since they were read. Both are read again: first the record, then the
        # table, which is not older than the record.
        self._notes.refresh({partition.topic for partition in different}, 0.0)
        self.tables.refresh(different, 0.0)
        for partition in different:
            self._check_note(partition)
        return bool(different)

    def _needs_note(self, request: RangeRequest, ledgers: TopicLedgers | None) -> bool:
        if request.partition.is_segment:
            return False
        tiered = self.tables.positions_of(request.partition)
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
        """Raise `TierMismatch` if the topic's record names a table other than the loaded table."""
        note, tiered = self._notes.get(partition.topic), self.tables.positions_of(partition)
        if note is None:
            return
        note.check_table(partition.topic, self.tables.id(partition), self.tables.place(partition.topic))
        note.check_tiered(partition, tiered)
        if tiered is not None and self._options.read_from == COLUMNS:
            note.check_end(partition, tiered)

    def _has_no_note(self, partition: TopicPartition) -> bool:
        """Return whether the topic has a table, but no record of this table.

        Then only creation times can show whether the table belongs to the topic.
        """
        return self.tables.positions_of(partition) is not None and self._notes.get(partition.topic) is None

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
            self._report(
                f"it is unknown whether topics were deleted and made again since they were tiered: {fault}"
            )
        except TopicNotFoundError:
            # The topic was deleted since the query listed it, and the query reports the deletion.
            pass
        return None

    def possible_loss(self, rest: RangeRequest, ledgers: TopicLedgers) -> RangeRequest | None:
        """Return the range in which messages may be lost, or None if no message can be lost.

        Raises `TierMismatch`, and the errors of `AdminClient`.
        """
        tiered = self.tables.positions_of(rest.partition)
        if tiered is None or not self.begins_at_end(rest):
            return rest
        first = ledgers.ledgers[0].id
        kept_ms = partial(retention_ms, self._admin, rest.partition)
        if is_cut_off(rest.start, ledgers):
            if tiered.is_outlived(first, time.time_ns() // 1_000_000, kept_ms):
                return None
            note = self._notes.get(rest.partition.topic)
            if note is not None and self._options.fail_on_data_loss:
                # The table was loaded again after these ledgers were found missing (`find_newer`).
                note.check_end(rest.partition, tiered)
        # If all messages after the table's end were removed, no ledger in `rest` shows the loss. So the range is
        # extended up to the first ledger.
        return replace(rest, end=max(rest.end, Position(first, 0)))

    def file_ranges(self, tiered: RangeRequest | None) -> list[FileRange]:
        """Divide `tiered`, a result of the method `tiered`, by the table's files. Raises `ColumnsUnavailable`."""
        if tiered is None:
            return []
        return self.tables.ranges(tiered.partition, tiered.start, tiered.end, tiered.window)
