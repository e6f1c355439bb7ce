"""Check whether messages were lost, after a read that ended without all entries of its range. Executor only.

The broker skips a removed ledger in the same way as entries that consumers do not see (markers, messages of aborted
transactions). So the check answers two questions:

  * Does the ledger still exist? This question matters only if missing entries may be lost (`Location.missing`). The
    admin REST API lists the topic's ledgers. Without the API, or for a compacted view, there is no answer. Retention
    removes the oldest ledgers first. So a range that was planned for the broker has lost nothing while its first ledger
    exists.
  * Does the damaged copy contain the entries that the broker skipped? This question matters only after a `DamagedCopy`.
    A broker that reads the same copy skips an entry with damaged metadata without an error. So the gaps between the
    broker's entries are read from the copy, where every byte is checked. If an entry is undamaged in the copy, the
    broker skipped it for a valid reason.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.errors import ConnectionFailed, DamagedCopy, PermissionDenied, ProtocolError, PulsarError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.read.location import EntryLocation, Missing, PartitionAccess, RangeProgress
from pyspark_pulsar.read.loss_report import report_loss
from pyspark_pulsar.read.split import SplitRange
from pyspark_pulsar.read.task.audit import RangeTally, SplitAudit

_TIMEOUT_MS: Final = 5_000

_log: Final = logging.getLogger(__name__)


class LossCheck:
    """A check of one split, which reports losses to the split's audit."""

    def __init__(self, access: PartitionAccess, audit: SplitAudit) -> None:
        self._access = access
        self._options = access.options
        self._partition = access.partition
        self._audit = audit

    @property
    def _can_list_ledgers(self) -> bool:
        """True if the admin REST API can list the ledgers.

        The API cannot list the ledgers of segments of scalable topics.
        """
        return self._options.admin_url is not None and not self._partition.is_segment

    def is_still_in_ledgers(self, rest: SplitRange) -> bool:
        """Return whether the ledgers of a table's rows all still exist; false if this is unknown."""
        missing = rest.location.missing(rest.start, rest.end, RangeProgress(rest.start, None, 0))
        if missing is None or not self._can_list_ledgers:
            return False
        try:
            present = self._present_ledgers()
        except (PermissionDenied, ConnectionFailed, ProtocolError):
            return False
        # Retention removes the oldest ledgers first.
        return bool(present) and min(present) <= missing.ledger

    def is_lost(self, rest: SplitRange, tally: RangeTally) -> bool:
        """Return whether a part of `rest` is lost that the broker did not return.

        If a loss is an error, `DataLossError` is raised. The errors of `AdminClient` are raised, too.
        """
        missing = rest.location.missing(rest.start, rest.end, tally.progress)
        if missing is None or not self._can_list_ledgers or self._options.read_compacted:
            return False
        try:
            if missing.ledger in self._present_ledgers():
                return False
        except PermissionDenied:
            if rest.location.is_broker:
                # Without this permission, the planner could not list the ledgers, either.
                return False
            raise
        except ConnectionFailed as fault:
            if not missing.is_common:
                raise
            _log.warning(
                "%s: expected %s; it is unknown whether its ledgers still exist: %s",
                self._partition, missing.text, fault,
            )  # fmt: skip
            return False
        self._report(missing)
        return True

    def give_up(self, rest: SplitRange, fault: PulsarError) -> None:
        """Report a loss, or raise the fault, after the location that `readFrom` names has failed.

        Raises:
            DataLossError: The ledger was removed. With `failOnDataLoss=false`, the loss is logged instead.
            PulsarError: The `fault`, if the ledger exists or the admin REST API does not answer.

        """
        missing = rest.location.missing(rest.start, rest.end, RangeProgress(rest.start, None, 0))
        if missing is None or not self._can_list_ledgers:
            raise fault
        try:
            present = self._present_ledgers()
        except (PermissionDenied, ConnectionFailed, ProtocolError):
            raise fault from None
        if missing.ledger in present:
            raise fault
        self._report(missing)
        self._audit.lose(rest)

    def check_copy(self, rest: SplitRange, spans: Iterable[tuple[int, int, bool]]) -> None:
        """Raise `DamagedCopy` for an entry that neither the broker nor the copy returns.

        Other errors of reading the copy are raised, too.
        """
        copy = rest.location
        if not isinstance(copy, EntryLocation):
            return
        parts = copy.ledger_parts(None, rest.start, rest.end) or ()
        gaps = [
            (part.ledger, *gap) for part in parts for gap in skipped_entries((part.first, part.last), spans)
        ]
        for ledger, first, last in gaps:
            begin, after = Position(ledger, first), Position(ledger, last + 1)
            try:
                with closing(copy.open(self._access, begin, after)) as source:
                    for _ in source:
                        pass
            except DamagedCopy as fault:
                raise DamagedCopy(
                    f"{fault}. The broker, which was read instead, has skipped the entry, too"
                ) from None

    def _present_ledgers(self) -> set[int]:
        timeout_ms = min(self._options.operation_timeout_ms, _TIMEOUT_MS)
        with AdminClient(self._options, patience_ms=timeout_ms) as admin:
            info = admin.topics.internal_info(self._partition)
        try:
            return {int(ledger["ledgerId"]) for ledger in info["ledgers"]}
        except (KeyError, TypeError, ValueError):
            raise ProtocolError(
                f"reading the ledgers of {self._partition}: expected a JSON object with ledgers, got another answer; "
                f"check that admin.url names the admin REST API of Pulsar"
            ) from None

    def _report(self, missing: Missing) -> None:
        report_loss(
            f"{self._partition}: expected {missing.text}, but retention or truncation has removed the ledger since the "
            f"read was planned",
            "Set the topic's retention to more than the duration of a query. To continue with the remaining messages, "
            "set failOnDataLoss=false",
            fail=self._options.fail_on_data_loss,
        )


def skipped_entries(
    entries: tuple[int, int], spans: Iterable[tuple[int, int, bool]]
) -> Iterator[tuple[int, int]]:
    """Yield the first and last entry of each gap that the spans leave between the two `entries` (both inclusive).

    A span consists of its first entry, its last entry, and whether all entries between them arrived.
    """
    expected, end = entries
    for first, last, is_whole in spans:
        if first > expected or not is_whole:
            yield min(first, expected), (first - 1 if is_whole else last)
        expected = last + 1
    if expected <= end:
        yield expected, end


def span(entries: EntryBatch) -> list[tuple[int, int, bool]]:
    """Return a list with the span of `entries`, all of one ledger; an empty list without entries."""
    first, last = entries.first, entries.last
    if first is None or last is None:
        return []
    return [(first[1], last[1], last[1] - first[1] + 1 == len(entries))]
