"""Whether a read that came to its end without all of its range has lost something. Executor only.

The broker passes over a ledger that is gone as it passes over entries that consumers do not see (markers, what aborted
transactions wrote). So two things are asked:

  * Is the ledger still there? Only if something did not come that may be lost (`Location.missing`). The admin REST API
    lists the topic's ledgers; without it, or for a compacted view, nothing can be asked. Retention removes from the
    front, so a range that the broker was to give has lost nothing while the ledger is there in which it begins.
  * Does the damaged copy hold what the broker passed over? Only after a `DamagedCopy`. A broker that reads the same
    copy passes in silence over an entry whose metadata is damaged. So the gaps in what it gave are read from the copy,
    which checks every byte: what is whole there was rightly left out.
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
from pyspark_pulsar.read.task.audit import Run, SplitAudit

_PATIENCE_MS: Final = 5_000

_log: Final = logging.getLogger(__name__)


class LossCheck:
    """Of one split, whose `audit` it tells what is lost."""

    def __init__(self, access: PartitionAccess, audit: SplitAudit) -> None:
        self._access = access
        self._options = access.options
        self._partition = access.partition
        self._audit = audit

    @property
    def _may_ask(self) -> bool:
        """Of segments of scalable topics the admin REST API tells no ledgers."""
        return self._options.admin_url is not None and not self._partition.is_segment

    def is_still_in_ledgers(self, rest: SplitRange) -> bool:
        """Whether the ledgers are all there that a table's rows came from; not where nobody tells."""
        missing = rest.location.missing(rest.start, rest.end, RangeProgress(rest.start, None, 0))
        if missing is None or not self._may_ask:
            return False
        try:
            present = self._present_ledgers()
        except (PermissionDenied, ConnectionFailed, ProtocolError):
            return False
        # Retention removes from the front.
        return bool(present) and min(present) <= missing.ledger

    def is_lost(self, rest: SplitRange, run: Run) -> bool:
        """Whether something of `rest` is lost after the broker's `run`. Raises `DataLossError` where that is an error,
        and the errors of `AdminClient`."""
        missing = rest.location.missing(rest.start, rest.end, run.progress)
        if missing is None or not self._may_ask or self._options.read_compacted:
            return False
        try:
            if missing.ledger in self._present_ledgers():
                return False
        except PermissionDenied:
            if rest.location.is_broker:
                # So nothing was known of ledgers when the read was planned either.
                return False
            raise
        except ConnectionFailed as fault:
            if not missing.is_common:
                raise
            _log.warning(
                "%s: expected %s; whether its ledgers are still there is not known: %s",
                self._partition, missing.text, fault,
            )  # fmt: skip
            return False
        self._report(missing)
        return True

    def give_up(self, rest: SplitRange, fault: PulsarError) -> None:
        """Nobody stands in for the place that `readFrom` names. Raises `DataLossError` if the ledger is gone and that
        is an error, and else `fault`: also where the admin REST API does not tell."""
        missing = rest.location.missing(rest.start, rest.end, RangeProgress(rest.start, None, 0))
        if missing is None or not self._may_ask:
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
        """Raises `DamagedCopy` for an entry that neither the broker nor the copy gives, and what else the copy does not
        let one read."""
        copy = rest.location
        if not isinstance(copy, EntryLocation):
            return
        parts = copy.ledger_parts(None, rest.start, rest.end) or ()
        gaps = [
            (part.ledger, *gap) for part in parts for gap in skipped_entries((part.first, part.last), spans)
        ]
        for ledger, first, last in gaps:
            begin, behind = Position(ledger, first), Position(ledger, last + 1)
            try:
                with closing(copy.open(self._access, begin, behind)) as source:
                    for _ in source:
                        pass
            except DamagedCopy as fault:
                raise DamagedCopy(
                    f"{fault}. The broker was asked instead, and has passed over it as well"
                ) from None

    def _present_ledgers(self) -> set[int]:
        patience_ms = min(self._options.operation_timeout_ms, _PATIENCE_MS)
        with AdminClient(self._options, patience_ms=patience_ms) as admin:
            info = admin.topics.internal_info(self._partition)
        try:
            return {int(ledger["ledgerId"]) for ledger in info["ledgers"]}
        except (KeyError, TypeError, ValueError):
            raise ProtocolError(
                f"reading the ledgers of {self._partition}: expected a JSON object with ledgers, got another"
            ) from None

    def _report(self, missing: Missing) -> None:
        report_loss(
            f"{self._partition}: expected {missing.text}, but retention or truncation has removed the ledger since the "
            f"read was planned",
            "Set retention longer than queries run. To go on with what is left, set failOnDataLoss=false",
            fail=self._options.fail_on_data_loss,
        )


def skipped_entries(
    entries: tuple[int, int], spans: Iterable[tuple[int, int, bool]]
) -> Iterator[tuple[int, int]]:
    """First and last entry of what `spans` (first, last, whether all between them came) leave open of `entries`."""
    expected, end = entries
    for first, last, is_whole in spans:
        if first > expected or not is_whole:
            yield min(first, expected), (first - 1 if is_whole else last)
        expected = last + 1
    if expected <= end:
        yield expected, end


def span(entries: EntryBatch) -> list[tuple[int, int, bool]]:
    """Of entries of one ledger; see `skipped_entries`. Empty if there are none."""
    first, last = entries.first, entries.last
    if first is None or last is None:
        return []
    return [(first[1], last[1], last[1] - first[1] + 1 == len(entries))]
