"""Whether a ledger was deleted while the broker was asked for it. Executor only.

A broker passes over a ledger that is gone as it passes over entries that consumers do not see (markers, what aborted
transactions wrote), and so an end that nothing came up to needs a second look.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.admin import AdminClient
from pyspark_pulsar.errors import DataLossError, PermissionDenied, ProtocolError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.locations.contiguous import entry_range
from pyspark_pulsar.read.split import FromBroker, FromCompactedLedger, Piece
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)


def check_still_there(
    options: ReadOptions, partition: TopicPartition, piece: Piece, rest: Piece, first: tuple[int, int] | None
) -> None:
    """Call after the broker gave all that it has of a piece; `rest` is what did not come, `first` the first entry that
    came, maybe from behind the piece.

    Raises `DataLossError` if the ledger of a direct read that did not come to its end is gone, or the one in which a
    piece of the broker's begins, if nothing of it came (logged instead where `failOnDataLoss` is false); and the
    errors of `AdminClient`.
    """
    if options.admin_url is None or options.read_compacted:
        return
    of_broker = isinstance(piece.location, FromBroker)
    lost = _at_start(piece, first) if of_broker else _of_ledger(rest)
    if lost is None:
        return
    try:
        if lost.ledger in _ledgers(options, partition):
            return
    except PermissionDenied:
        if of_broker:
            # So nothing was known of ledgers when the read was planned either.
            return
        raise
    text = (
        f"{partition}: expected {lost.text}, but retention or truncation has removed the ledger since the read was "
        f"planned"
    )
    if options.fail_on_data_loss:
        raise DataLossError(
            f"{text}. Set retention longer than queries run. To go on with what is left, set failOnDataLoss=false"
        )
    _log.warning("%s. failOnDataLoss=false: the query goes on with what is left.", text)


@dataclass(frozen=True, slots=True)
class _Missed:
    """What did not come; that is a loss if the ledger is gone."""

    ledger: int
    text: str


def _of_ledger(rest: Piece) -> _Missed | None:
    """The rest of a closed ledger that could not be read directly to its end."""
    if isinstance(rest.location, FromBroker | FromCompactedLedger):
        return None
    first, last = entry_range(rest, rest.location.ledger)
    number = rest.location.ledger.ledger
    if first > last:
        return None
    return _Missed(number, f"entries {first} to {last} of ledger {number} ({last - first + 1} entries)")


def _at_start(piece: Piece, first: tuple[int, int] | None) -> _Missed | None:
    """The ledger in which a piece begins that was planned for the broker: it had entries of it then."""
    start = piece.start
    if start.is_earliest or (first is not None and first[0] <= start.ledger):
        return None
    return _Missed(start.ledger, f"messages from {start} on in ledger {start.ledger}")


def _ledgers(options: ReadOptions, partition: TopicPartition) -> set[int]:
    with AdminClient(options) as admin:
        info = admin.internal_info(partition)
    try:
        return {int(each["ledgerId"]) for each in info["ledgers"]}
    except (KeyError, TypeError, ValueError):
        raise ProtocolError(
            f"reading the ledgers of {partition}: expected a JSON object with ledgers, got another"
        ) from None
