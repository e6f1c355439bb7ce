"""Supply of data keys, earlier chunks and outcomes of transactions, which some entries need for decoding.

This module runs on executors only. The kernel reports which key, chunks or outcome an entry waits for. This module
fetches the requested data, or reports to the kernel that the data is not available.
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
"""Ranges of entries, with the entries of each range in order. Each range begins earlier than the previous range."""

log = logging.getLogger(__name__)


def _no_private_keys(name: str, _: bytes) -> str:
    return f"no private key is configured for {name!r}"


def _nothing_before(_ledger: int, _entry: int, _chunks: int) -> EarlierRanges:
    yield from ()


def _no_outcomes(_: Sequence[TransactionId]) -> Mapping[TransactionId, bool]:
    raise LedgerUnavailable(
        "only the admin REST API reports the outcomes of transactions, and option 'admin.url' is not set"
    )


class TransactionsUnknown(LedgerUnavailable):
    """Entries that were read from storage belong to transactions whose outcome is unknown.

    The decoder is still usable. The decoder has dropped the entry `ledger:entry` and all later entries. Read the
    dropped entries from the broker.
    """

    def __init__(self, message: str, ledger: int = -1, entry: int = -1) -> None:
        super().__init__(message)
        self.ledger, self.entry = ledger, entry


@dataclass(frozen=True, slots=True)
class Intake:
    """The sources of data keys, earlier chunks and transaction outcomes, and the settings for missing data."""

    unwrap: Callable[[str, bytes], bytes | str] = _no_private_keys
    """`unwrap(name, wrapped)` returns the data key that was wrapped for the key `name`. If no private key unwraps the
    data key, the function returns the reason as a text."""
    earlier: Callable[[int, int, int], EarlierRanges] = _nothing_before
    """`earlier(ledger, entry, chunks)` yields ranges of entries that end before the entry `ledger:entry`. This entry is
    the last chunk of a message with `chunks` chunks. Each range begins earlier than the previous range. The last range
    begins at the topic's first entry."""
    aborted: Callable[[Sequence[TransactionId]], Mapping[TransactionId, bool]] = _no_outcomes
    """`aborted(transactions)` returns a mapping from each transaction to True or False. True means that the broker has
    recorded an abort. The function raises a `PulsarError` if an outcome cannot be found."""
    crypto_failure_action: str = "FAIL"
    max_open_chunked: int = 10
    max_uncompressed: int | None = None
    """Maximum size of a decompressed payload, in bytes. With None, the limit depends on the stored size."""
    trimmed_is_loss: bool = False
    """True to raise `DataLossError` if retention removed the first chunks of a message that ends in the range.

    The value is False if the range begins with the topic's first message, because an incomplete message in such a range
    is no data loss.
    """

    @property
    def settings(self) -> tuple[str, int, int | None]:
        """Return the settings that are fixed when a kernel decoder is created."""
        return (self.crypto_failure_action, self.max_open_chunked, self.max_uncompressed)


def supply(decoder: Decoder, intake: Intake, topic: str) -> bool:
    """Supply the key, chunks or outcomes that the decoder waits for. Return False if the decoder waits for nothing.

    Raises:
        TransactionsUnknown: The outcome of a transaction is unknown.
        PulsarError: A function of `intake` failed. If `earlier` failed, the error contains the position of the message.

    """
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
        log.info(
            "Reading earlier entries to find the chunks of a message: topic %s, ledger %d, entry %d",
            topic,
            ledger,
            entry,
        )
        try:
            _look_back(decoder, intake.earlier(ledger, entry, chunks))
        except PulsarError as fault:
            if isinstance(fault, DataLossError) and not intake.trimmed_is_loss:
                # After `end_look_back`, the decoder reports the message as lost, and the read continues.
                log.warning(
                    "Cannot read the earlier chunks of a message (%s): topic %s, ledger %d, entry %d",
                    fault,
                    topic,
                    ledger,
                    entry,
                )
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
            f"topic {topic}, ledger {ledger}, entry {entry}: expected the outcome of a message's transaction, which "
            f"decides whether the message is visible, got none: {fault}; set readFrom to auto or broker",
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


def report_lost_messages(decoder: Decoder, intake: Intake, topic: str) -> None:
    """Log the chunked messages of the range that can never be complete.

    Raises:
        DataLossError: Retention has removed chunks of a message, and `trimmed_is_loss` is True.

    """
    for ledger, entry, chunks, has_first in decoder.take_lost():
        message = f"topic {topic}, ledger {ledger}, entry {entry}: the last of {chunks} chunks of a message"
        if has_first:
            log.warning("A message produces no row, because one of its chunks was never stored: %s", message)
        elif intake.trimmed_is_loss:
            raise DataLossError(
                f"{message}: expected the first chunks of the message in earlier entries, got none, because retention "
                f"has removed them; start the read after this entry, at {ledger}:{entry + 1}"
            )
        else:
            log.warning("A message produces no row, because retention removed its first chunks: %s", message)


def log_discarded_entries(decoder: Decoder, topic: str) -> None:
    """Log the number of entries that were discarded because the private keys do not decrypt them."""
    if decoder.discarded:
        log.warning(
            "%d encrypted entries of the range were discarded, because the private keys do not decrypt them "
            "(pulsar.consumer.cryptoFailureAction is DISCARD): topic %s",
            decoder.discarded,
            topic,
        )
