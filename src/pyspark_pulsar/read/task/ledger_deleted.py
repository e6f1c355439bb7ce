"""Whether a ledger was deleted while the broker was asked for it. Executor only.

A broker passes over a ledger that is gone as it passes over entries that consumers do not see (markers, what aborted
transactions wrote), and so an end that nothing came up to needs a second look.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import (
    ConnectionFailed,
    DataLossError,
    PermissionDenied,
    ProtocolError,
    PulsarError,
)
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.sources.contiguous import entry_range
from pyspark_pulsar.read.split import FromBroker, FromCompactedLedger, SplitRange
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)

_PATIENCE_MS: Final = 5_000


def check_still_there(
    options: ReadOptions,
    partition: TopicPartition,
    split_range: SplitRange,
    rest: SplitRange,
    first: tuple[int, int] | None,
    entries: int,
) -> bool:
    """Call after the broker gave all that it has of a piece: `entries`; `rest` is what did not come behind them,
    `first` the first entry that came, maybe from behind the piece. Returns whether something is lost.

    Raises `DataLossError` if the ledger of a direct read that did not come to its end is gone, or the one in which a
    piece of the broker's begins, if not all of the piece came (logged instead where `failOnDataLoss` is false); and
    the errors of `AdminClient`.
    """
    if options.admin_url is None or options.read_compacted:
        return False
    of_broker = isinstance(split_range.location, FromBroker)
    lost = _of_broker(split_range, first, entries) if of_broker else _of_ledger(rest)
    if lost is None:
        return False
    try:
        if lost.ledger in _ledgers(options, partition):
            return False
    except PermissionDenied:
        if of_broker:
            # So nothing was known of ledgers when the read was planned either.
            return False
        raise
    except ConnectionFailed as fault:
        if not lost.is_common:
            raise
        _log.warning(
            "%s: expected %s; whether its ledgers are still there is not known: %s",
            partition,
            lost.text,
            fault,
        )
        return False
    _lose(options, partition, lost)
    return True


def check_lost(options: ReadOptions, partition: TopicPartition, rest: SplitRange, fault: PulsarError) -> None:
    """Call where nobody stands in for a direct read that has failed: `fault`; `rest` is what did not come.

    Raises `DataLossError` if the ledger is gone (logged instead where `failOnDataLoss` is false), and else `fault`:
    also where the admin REST API does not tell.
    """
    lost = _of_ledger(rest)
    if lost is None or options.admin_url is None:
        raise fault
    try:
        present = _ledgers(options, partition)
    except (PermissionDenied, ConnectionFailed, ProtocolError):
        raise fault from None
    if lost.ledger in present:
        raise fault
    _lose(options, partition, lost)


def _lose(options: ReadOptions, partition: TopicPartition, lost: _Missed) -> None:
    """Raises `DataLossError`, or logs it."""
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
    is_common: bool = False
    """Whether it mostly is none: topics with transactions have entries that consumers do not see."""


def _of_ledger(rest: SplitRange) -> _Missed | None:
    """The rest of a closed ledger that could not be read directly to its end."""
    if isinstance(rest.location, FromBroker | FromCompactedLedger):
        return None
    first, last = entry_range(rest, rest.location.ledger)
    number = rest.location.ledger.id
    if first > last:
        return None
    return _Missed(number, f"entries {first} to {last} of ledger {number} ({last - first + 1} entries)")


def _of_broker(split_range: SplitRange, first: tuple[int, int] | None, entries: int) -> _Missed | None:
    """What consumers do not see lacks too; but retention removes from the front, so that nothing is lost of a piece
    while the ledger is there in which it begins: it had entries of it when it was planned."""
    start = split_range.start
    expected = split_range.location.entries if isinstance(split_range.location, FromBroker) else None
    if start.is_earliest or (expected is not None and entries >= expected):
        return None
    if first is None or first[0] > start.ledger:
        return _Missed(start.ledger, f"messages from {start} on in ledger {start.ledger}")
    if expected is None:
        return None
    text = f"{expected} entries from {start} up to {split_range.end}, got {entries}"
    return _Missed(start.ledger, text, is_common=True)


def _ledgers(options: ReadOptions, partition: TopicPartition) -> set[int]:
    with AdminClient(options, patience_ms=min(options.operation_timeout_ms, _PATIENCE_MS)) as admin:
        info = admin.topics.internal_info(partition)
    try:
        return {int(each["ledgerId"]) for each in info["ledgers"]}
    except (KeyError, TypeError, ValueError):
        raise ProtocolError(
            f"reading the ledgers of {partition}: expected a JSON object with ledgers, got another"
        ) from None
