"""What some entries need before they can be decoded: data keys, chunks that lie before the range, and whether their
transaction was aborted.

Executor only. The kernel says what an entry waits for; here it is fetched, and what cannot be had is told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_pulsar.errors import DataLossError, LedgerUnavailable, PulsarError
from pyspark_pulsar.model.transaction_id import TransactionId

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import Decoder, EntryBatch

EarlierRanges = Generator["Iterator[EntryBatch]", None, None]
"""Ranges of entries before a message, in order within a range; each range begins further back than the one before."""

log = logging.getLogger(__name__)


def _no_private_keys(name: str, _: bytes) -> str:
    return f"no private key is given for {name!r}"


def _nothing_before(_ledger: int, _entry: int, _chunks: int) -> EarlierRanges:
    yield from ()


def _nobody_knows(_: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
    raise LedgerUnavailable(
        "whether a transaction was aborted is told by the admin REST API only (option 'admin.url')"
    )


class TransactionsUnknown(LedgerUnavailable):
    """Entries from storage are of transactions of which nobody says whether they were aborted. The decoder is whole: it
    has dropped the entry (`ledger`, `entry`) and what lies behind it, which the broker must give."""

    def __init__(self, message: str, ledger: int = -1, entry: int = -1) -> None:
        super().__init__(message)
        self.ledger, self.entry = ledger, entry


@dataclass(frozen=True, slots=True)
class Intake:
    """Where a decoder gets what entries need, and what it does when that cannot be had."""

    unwrap: Callable[[str, bytes], bytes | str] = _no_private_keys
    """`unwrap(name, wrapped)`: the data key that was wrapped for the key `name`, or why there is none."""
    earlier: Callable[[int, int, int], EarlierRanges] = _nothing_before
    """`earlier(ledger, entry, chunks)`: ranges of entries that end before that entry, the last of so many chunks;
    each range reaches further back than the one before, the last to the topic's first entry."""
    aborted: Callable[[Sequence[TransactionId]], Mapping[TransactionId, bool]] = _nobody_knows
    """`aborted(transactions)`: for each whether the broker counts it as aborted. Raises a `PulsarError` where that
    cannot be found out."""
    crypto_failure_action: str = "FAIL"
    max_open_chunked: int = 10
    max_uncompressed: int | None = None
    """Most bytes that one payload may unpack to; None: by how large it is as stored."""
    trimmed_is_loss: bool = False
    """Whether chunks that retention removed from before the range are an error: not where the range begins
    with the first message that the topic still has."""

    @property
    def settings(self) -> tuple[str, int, int | None]:
        """What the kernel's decoder is made with."""
        return (self.crypto_failure_action, self.max_open_chunked, self.max_uncompressed)


def supply(decoder: Decoder, intake: Intake, topic: str) -> bool:
    """Give the decoder what its entry waits for; False when none waits. Raises `TransactionsUnknown`, and the errors of
    `intake`, those of `earlier` with the message that waits."""
    undecided = decoder.undecided_transactions()
    if undecided:
        _decide(decoder, intake, topic, undecided)
    needed_keys = decoder.needed_data_keys()
    for name, wrapped in needed_keys:
        data_key = intake.unwrap(name, wrapped)
        if isinstance(data_key, bytes):
            decoder.add_data_key(wrapped, data_key)
            break
        decoder.refuse_data_key(wrapped, data_key)
    missing = decoder.missing_chunks()
    if missing is not None:
        ledger, entry, chunks = missing
        log.info("topic %s: looking back for the chunks of the message at %d:%d", topic, ledger, entry)
        try:
            _look_back(decoder, intake.earlier(ledger, entry, chunks))
        except PulsarError as fault:
            if isinstance(fault, DataLossError) and not intake.trimmed_is_loss:
                # Then the message is told to be lost, and the read goes on.
                log.warning("topic %s, ledger %d, entry %d: %s", topic, ledger, entry, fault)
                decoder.end_look_back()
                return True
            raise type(fault)(
                f"topic {topic}, ledger {ledger}, entry {entry}: looking back for the first of the {chunks} chunks of "
                f"the message that ends there: {fault}"
            ) from fault
    return bool(undecided or needed_keys) or missing is not None


def _decide(decoder: Decoder, intake: Intake, topic: str, undecided: Sequence[TransactionId]) -> None:
    try:
        outcomes = intake.aborted(undecided)
    except PulsarError as fault:
        ledger, entry = decoder.give_up_transactions() or (-1, -1)
        raise TransactionsUnknown(
            f"topic {topic}, ledger {ledger}, entry {entry}: expected to learn whether the transaction of a message "
            f"was aborted, which decides whether it is visible; {fault}; set readFrom to auto or broker",
            ledger,
            entry,
        ) from fault
    for most, least in undecided:
        decoder.add_transaction(most, least, outcomes[most, least])


def _look_back(decoder: Decoder, ranges: EarlierRanges) -> None:
    with closing(ranges):
        for entry_range in ranges:
            restart, has_first = True, False
            for entries in entry_range:
                has_first = decoder.look_back(entries, restart)
                restart = False
            if has_first:
                break
    decoder.end_look_back()


def tell_lost(decoder: Decoder, intake: Intake, topic: str) -> None:
    """Report chunked messages of the range that nobody can put together. Raises `DataLossError`."""
    for ledger, entry, chunks, has_first in decoder.take_lost():
        message = f"topic {topic}, ledger {ledger}, entry {entry}: the last of {chunks} chunks of a message"
        if has_first:
            log.warning("%s gives no row: a chunk between is missing, so it never was whole", message)
        elif intake.trimmed_is_loss:
            raise DataLossError(
                f"{message}: expected its first chunks before it, got none: retention has removed them since the "
                f"position at which this read begins was the topic's present; begin the read behind this entry, at "
                f"{ledger}:{entry + 1}"
            )
        else:
            log.warning("%s gives no row: retention has removed its first chunks", message)


def tell_discarded(decoder: Decoder, topic: str) -> None:
    """Log how many entries were dropped because they cannot be decrypted."""
    if decoder.discarded:
        log.warning(
            "topic %s: %d encrypted entries of the range were discarded, since they cannot be decrypted with the "
            "private keys given (pulsar.consumer.cryptoFailureAction is DISCARD)",
            topic,
            decoder.discarded,
        )
