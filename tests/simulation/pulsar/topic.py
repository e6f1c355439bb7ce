"""A simulated topic: its entries, its producers and consumers, and its transaction buffer.

The model follows `PersistentTopic` and `TopicTransactionBuffer` of Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from simulation.network import Link

Transaction = tuple[int, int]
At = tuple[int, int]
"""Ledger id and entry id."""

NOT_STARTED, NO_SNAPSHOT, RECOVERING, READY = "None", "NoSnapshot", "Initializing", "Ready"
PLAIN, ROWS, COMMIT, ABORT = "plain", "rows", "commit", "abort"
NOTHING: Final = (-1, -1)


@dataclass(frozen=True, slots=True)
class Entry:
    at: At
    kind: str
    tail: bytes
    """The bytes of the frame after the command: checksum, metadata and payload."""
    transaction: Transaction | None = None


@dataclass(eq=False)
class OpenProducer:
    link: Link
    producer_id: int
    name: str
    is_exclusive: bool


@dataclass(eq=False)
class OpenConsumer:
    link: Link
    consumer_id: int
    next_at: At
    marked: At
    """The first position that the cursor has not passed. Only trimming moves it, if the consumer is not durable."""
    permits: int = 0
    subscription: str = ""
    durable: bool = False


@dataclass(eq=False)
class Topic:
    """A topic without partitions, or one partition."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    """The entries of all existing ledgers."""
    removed: list[Entry] = field(default_factory=list)
    """The entries of deleted ledgers."""
    ledger: int = 0
    epoch: int | None = None
    cursors: dict[str, At] = field(default_factory=dict)
    has_snapshot: bool = False
    is_loaded: bool = False
    loaded_at: float = 0.0
    is_blind: bool = False
    """True while the topic shows nothing, as brokers do after two loads in a short time."""
    producers: dict[str, OpenProducer] = field(default_factory=dict)
    consumers: list[OpenConsumer] = field(default_factory=list)
    state: str = NO_SNAPSHOT
    open_transactions: dict[Transaction, At] = field(default_factory=dict)
    """Open transactions of the buffer with their first message, oldest first."""
    aborted: set[Transaction] = field(default_factory=set)
    low_water_marks: dict[int, int] = field(default_factory=dict)
    """The highest id up to which all transactions have ended, by coordinator, from the last markers."""

    def forget(self) -> None:
        """Lose the state of the buffer, because the topic is no longer loaded."""
        self.is_loaded = self.is_blind = False
        self.state = NO_SNAPSHOT
        self.producers.clear()
        self.consumers.clear()
        self.open_transactions.clear()
        self.aborted.clear()
        self.low_water_marks.clear()

    def append(self, kind: str, tail: bytes, transaction: Transaction | None) -> Entry:
        last = self.entries[-1].at if self.entries and self.entries[-1].at[0] == self.ledger else None
        at = (self.ledger, 0 if last is None else last[1] + 1)
        entry = Entry(at, kind, tail, transaction)
        self.entries.append(entry)
        return entry

    # The transaction buffer

    def replay(self) -> None:
        """Recover the buffer from the log. Brokers do so after a load, if a snapshot exists."""
        self.open_transactions.clear()
        self.aborted.clear()
        for entry in self.entries:
            self._apply(entry)

    def _apply(self, entry: Entry) -> None:
        transaction = entry.transaction
        if transaction is None:
            return
        if entry.kind == ROWS:
            if transaction not in self.open_transactions and transaction not in self.aborted:
                self.open_transactions[transaction] = entry.at
        elif entry.kind == ABORT:
            self.aborted.add(transaction)
            self.open_transactions.pop(transaction, None)
        else:
            self.open_transactions.pop(transaction, None)

    def append_rows(self, tail: bytes, transaction: Transaction) -> Entry:
        """Append a message of a transaction. The buffer must be ready."""
        entry = self.append(ROWS, tail, transaction)
        self._apply(entry)
        return entry

    def end(self, transaction: Transaction, kind: str, low_water_mark: int) -> None:
        """Append the marker that ends a transaction. A buffer that is not ready records no abort."""
        if kind == ABORT and self.state != READY:
            return
        self._apply(self.append(kind, b"", transaction))
        coordinator = transaction[0]
        self.low_water_marks[coordinator] = max(low_water_mark, self.low_water_marks.get(coordinator, -1))
        while (first := next(iter(self.open_transactions), None)) is not None and self.has_ended(first):
            self._apply(self.append(ABORT, b"", first))

    def has_ended(self, transaction: Transaction) -> bool:
        """Return whether the buffer knows from a low water mark that the transaction has ended."""
        return transaction[1] <= self.low_water_marks.get(transaction[0], -1)

    @property
    def is_recovering(self) -> bool:
        """Return whether the buffer has not recovered since the topic was loaded."""
        return self.state == NOT_STARTED or (self.state == RECOVERING and self.has_snapshot)

    @property
    def readable(self) -> list[Entry]:
        """Return the entries that are before the first message of an open transaction."""
        if self.state in (NOT_STARTED, RECOVERING) or self.is_blind:
            return []
        first = next(iter(self.open_transactions.values()), None)
        return self.entries if first is None else [entry for entry in self.entries if entry.at < first]

    def is_shown(self, entry: Entry) -> bool:
        if entry.kind == PLAIN:
            return True
        return entry.kind == ROWS and entry.transaction not in self.aborted

    @property
    def last_shown(self) -> At:
        readable = self.readable
        for index in range(len(readable) - 1, -1, -1):
            if self.is_shown(readable[index]):
                return readable[index].at
        return NOTHING

    def visible(self) -> list[Entry]:
        """Return all entries that a consumer gets."""
        return [entry for entry in self.readable if self.is_shown(entry)]

    @property
    def first(self) -> At:
        """Return the first position of the oldest existing ledger."""
        return (self.entries[0].at[0] if self.entries else self.ledger, 0)

    def trim(self) -> None:
        """Delete the closed ledgers that all durable cursors have passed, and move the other cursors out of them."""
        if not self.cursors:
            return
        least = min(map(self._settled, self.cursors.values()))[0]
        removed = [entry.at for entry in self.entries if entry.at[0] < least]
        if not removed:
            return
        self.removed += self.entries[: len(removed)]
        del self.entries[: len(removed)]
        for consumer in self.consumers:
            if consumer.marked[0] < least:
                ledger, number = removed[-1]
                unread = consumer.marked <= removed[-1]
                consumer.marked = (ledger, number + 1) if unread else self.first

    def _settled(self, cursor: At) -> At:
        """Return the cursor, or the beginning of the next ledger if the cursor is at the end of a closed ledger."""
        ledger = cursor[0]
        if ledger >= self.ledger or any(
            entry.at[0] == ledger and entry.at >= cursor for entry in self.entries
        ):
            return cursor
        later = next((entry.at[0] for entry in self.entries if entry.at[0] > ledger), self.ledger)
        return (later, 0)


def message_frame(consumer: OpenConsumer, entry: Entry) -> bytes:
    """Return the MESSAGE frame of an entry. The package's Python messages do not contain CommandMessage."""
    ledger, number = entry.at
    where = b"\x08" + _varint(ledger) + b"\x10" + _varint(number)
    message = b"\x08" + _varint(consumer.consumer_id) + b"\x12" + _varint(len(where)) + where
    body = b"\x08\x09\x4a" + _varint(len(message)) + message
    size = len(body).to_bytes(4, "big")
    return (4 + len(body) + len(entry.tail)).to_bytes(4, "big") + size + body + entry.tail


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
