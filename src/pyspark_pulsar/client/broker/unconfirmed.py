"""What a producer has been given and the broker has not confirmed: what may be sent now, what a receipt proves, and
what to send again on a new connection. No I/O.

States of a frame, which leave it in this order; receipts come in the order of frames
    held       The last chunk of a message in chunks, until all its other chunks are confirmed.
    unsent     Not sent on the present connection. `take` gives it.
    sent       Sent on the present connection, no receipt yet.
    confirmed  Stored, as far as the topic stores anything. Forgotten when all that was given with it is confirmed.

What a receipt means, by its sequence id
    below that of the oldest unconfirmed frame   The first sending of something that was sent twice: nothing.
    equal, with a position                       The frame is stored: confirmed.
    equal, without one, sent before              Deduplication knows it: confirmed.
    equal, without one, first sending            Nothing proves that it is stored: `NotStored`, the producer fails.
    above                                        Receipts are missing: the connection cannot be trusted any more.

A receipt without a position, (-1,-1), says that broker deduplication has not stored the frame, since it knows the
producer's name with a sequence id as high. That proves that the message is there if this producer sent the same frame
before, over a connection that broke: its name and its ids are its own, and entries are stored in their order. So each
group of frames keeps `tried`: how many of them may have reached a broker earlier, as they are now.

On a new connection (`begin_again`) all frames that are sent are unsent again, so each message is stored at least once.

A message in chunks is the one thing that may not simply be sent again from its first unconfirmed frame on: the C++
client, and so the official Python one, lets a message go of which a chunk comes twice. So its last chunk is held.
    The connection breaks before the last chunk was sent    No reader has the message. All of it is sent again as
                                                            another one, with a new uuid: also the chunks that
                                                            were confirmed, none of which counts as tried.
    The connection breaks behind it                         Only the last chunk is sent again, which all readers know
                                                            for a repeated one if it is stored already.

Without `sends_again` nothing is sent a second time, so nothing is held; the producer fails instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

from pyspark_pulsar.client.broker.connection.transport import SendFrames, renew_chunks


@dataclass
class _Pending:
    """Frames that were given together. Numbers are those of frames, counted from 0."""

    frames: SendFrames
    given_at: float
    data: bytes
    held: tuple[int, ...]
    """Last chunks, which are sent when all before them is confirmed."""
    confirmed: int = 0
    """So many from the first on."""
    sent: int = 0
    """So many on the present connection, those confirmed before it among them."""
    tried: int = 0
    """So many may have reached a broker on an earlier connection, as they are now."""
    attempts: int = 0
    """How often chunked messages were begun again."""
    first_sent: deque[tuple[int, float]] = field(default_factory=deque)
    """When unconfirmed frames were sent for the first time: all below the number that were not sent before."""

    @property
    def count(self) -> int:
        return len(self.frames.ends)

    def place(self, first: int, behind: int) -> slice:
        """Of frames in the data."""
        return slice(self.frames.ends[first - 1] if first else 0, self.frames.ends[behind - 1])

    def confirm_one(self) -> None:
        self.confirmed += 1
        while self.first_sent and self.first_sent[0][0] <= self.confirmed:
            self.first_sent.popleft()


class Unconfirmed:
    """Frames of one producer, in order. Times are those of `time.monotonic`. Not safe to use from several threads."""

    def __init__(self, *, sends_again: bool) -> None:
        """Without `sends_again` nothing is ever sent a second time, and nothing is held back for that."""
        self._sends_again = sends_again
        self._pending: deque[_Pending] = deque()
        self._progress_at = 0.0
        self.nbytes = 0
        """Of all that was given together, as long as a part of it is unconfirmed."""

    def __bool__(self) -> bool:
        return bool(self._pending)

    @property
    def oldest_since(self) -> float:
        """Since when the oldest is due, which there must be."""
        oldest = self._pending[0]
        return oldest.first_sent[0][1] if oldest.first_sent else max(oldest.given_at, self._progress_at)

    @property
    def oldest_id(self) -> int:
        """The sequence id of the oldest, which there must be."""
        oldest = self._pending[0]
        return oldest.frames.sequence_ids[oldest.confirmed]

    @property
    def is_all_sent(self) -> bool:
        """Whether nothing is left to be sent on the present connection."""
        return not self._pending or self._pending[-1].sent == self._pending[-1].count

    def add(self, frames: SendFrames, now: float) -> None:
        held = tuple(end - 1 for _, end in frames.chunked) if self._sends_again else ()
        self._pending.append(_Pending(frames, now, frames.frames, held))
        self.nbytes += len(frames.frames)

    def take(self, now: float) -> memoryview | None:
        """The next frames to send, which count as sent from now on; None when none may be sent at present: a last
        chunk waits for receipts, or all is sent."""
        pending = next((frames for frames in self._pending if frames.sent < frames.count), None)
        if pending is None:
            return None
        first, held = pending.sent, pending.held[bisect_left(pending.held, pending.sent) :]
        if held[:1] == (first,):
            if pending is not self._pending[0] or pending.confirmed < first:
                return None
            held = held[1:]
        behind = pending.sent = held[0] if held else pending.count
        if not pending.first_sent or pending.first_sent[-1][0] < behind:
            pending.first_sent.append((behind, now))
        return memoryview(pending.data)[pending.place(first, behind)]

    def confirm(self, sequence_id: int, now: float, *, stored: bool) -> str | None:
        """Count a receipt; `stored` is whether it names a position. Returns what is wrong with it: the connection
        cannot be trusted any more. Raises `NotStored`."""
        if not self._pending or sequence_id < self.oldest_id:
            return None  # Confirms the first sending of something that was sent twice.
        if sequence_id > self.oldest_id:
            return f"expected the receipt of message {self.oldest_id}, got that of {sequence_id}"
        oldest = self._pending[0]
        if not stored and not self._is_proven(oldest):
            raise NotStored(sequence_id)
        oldest.confirm_one()
        self._progress_at = now
        if oldest.confirmed == oldest.count:
            self._pending.popleft()
            self.nbytes -= len(oldest.data)
        return None

    def _is_proven(self, pending: _Pending) -> bool:
        """Whether a receipt without a position proves that the oldest frame is stored. Of other chunks than the last,
        brokers that know of chunks never say so."""
        index = pending.confirmed
        inner = any(begin <= index < end - 1 for begin, end in pending.frames.chunked)
        return index < pending.tried and not inner

    def begin_again(self) -> None:
        """There is a new connection: send what is unconfirmed again."""
        for pending in self._pending:
            was_sent, pending.sent = pending.sent, pending.confirmed
            pending.tried = max(pending.tried, was_sent)
            for begin, end in pending.frames.chunked:
                if begin < pending.tried and pending.confirmed < end - 1:
                    self._begin_message_again(pending, begin, end)

    def _begin_message_again(self, pending: _Pending, begin: int, end: int) -> None:
        """As another message. Its last chunk was never sent, and so nothing behind it."""
        pending.attempts += 1
        place = pending.place(begin, end)
        renewed = renew_chunks(pending.data[place], pending.attempts)
        pending.data = pending.data[: place.start] + renewed + pending.data[place.stop :]
        pending.confirmed = pending.sent = min(pending.confirmed, begin)
        pending.tried = begin


class NotStored(Exception):
    """A receipt says that a message was not stored, and nothing proves that it was before."""
