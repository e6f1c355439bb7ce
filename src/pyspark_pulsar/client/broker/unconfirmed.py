"""The unconfirmed frames of a producer: the next frames to send, proofs by receipts, and repetitions. No I/O.

A frame passes through these states in order; receipts arrive in the order of frames:

    held       The last chunk of a chunked message, until all its other chunks are confirmed.
    unsent     Not sent on the current connection. `take` returns it.
    sent       Sent on the current connection, without a receipt.
    confirmed  Stored, if the topic stores anything. Removed when all frames of the same `add` are confirmed.

The meaning of a receipt, by its sequence id:

    below the id of the oldest unconfirmed frame   Confirms the first sending of a frame that was sent twice: ignored.
    equal, with a position                         The frame is stored: confirmed.
    equal, without a position, sent before         Deduplication knows the frame: confirmed.
    equal, without a position, first sending       Nothing proves that it is stored: `NotStored`, the producer fails.
    above                                          Receipts are missing: the connection is no longer reliable.

A receipt without a position, (-1,-1), means that broker deduplication has not stored the frame. The producer's name
already has a sequence id at least as high. This proves that the message is stored, if the same producer sent the same
frame earlier over a broken connection. Only this producer uses its name and ids, and entries are stored in order. So
each group of frames has `tried`: how many of its unchanged frames may have reached a broker earlier.

On a new connection (`prepare_resend`), all sent frames become unsent, so each message is stored at least once.

A chunked message is an exception: repeating only its unconfirmed chunks could lose the message. The C++ client, and so
the official Python client, drops a message if one of its chunks arrives twice. So the last chunk is held:

    The connection breaks before the last chunk was sent    No reader has the message. All chunks are sent again as a
                                                            new message with a new uuid, including confirmed ones,
                                                            and none of them counts as tried.
    The connection breaks after that                        Only the last chunk is sent again. If it is stored already,
                                                            all readers recognize the repetition.

Without `sends_again`, no frame is sent twice, so no frame is held; the producer fails instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

from pyspark_pulsar.client.broker.connection.transport import SendFrames, renew_chunks


@dataclass
class _Pending:
    """Frames of one `add`. Numbers of frames count from 0."""

    frames: SendFrames
    given_at: float
    data: bytes
    held: tuple[int, ...]
    """Last chunks. Each is sent after all earlier frames are confirmed."""
    confirmed: int = 0
    """Number of confirmed frames, from the first one on."""
    sent: int = 0
    """Number of frames that were sent on the current connection or confirmed before."""
    tried: int = 0
    """Number of frames that may have reached a broker on an earlier connection, unchanged."""
    attempts: int = 0
    """Number of times that chunked messages were sent again as new ones."""
    first_sent: deque[tuple[int, float]] = field(default_factory=deque)
    """First send times of unconfirmed frames: of all frames below a number that were not sent before."""

    @property
    def count(self) -> int:
        return len(self.frames.ends)

    def place(self, first: int, stop: int) -> slice:
        """Return the location of frames `first` to `stop` (exclusive) in the data."""
        return slice(self.frames.ends[first - 1] if first else 0, self.frames.ends[stop - 1])

    def confirm_one(self) -> None:
        self.confirmed += 1
        while self.first_sent and self.first_sent[0][0] <= self.confirmed:
            self.first_sent.popleft()


class Unconfirmed:
    """Frames of one producer, in order. Times are from `time.monotonic`. Not safe to use from several threads."""

    def __init__(self, *, sends_again: bool) -> None:
        """Start without frames. If `sends_again` is False, no frame is sent twice, and no last chunk is held."""
        self._sends_again = sends_again
        self._pending: deque[_Pending] = deque()
        self._progress_at = 0.0
        self.nbytes = 0
        """Bytes of all groups of frames that are not completely confirmed."""

    def __bool__(self) -> bool:
        return bool(self._pending)

    @property
    def oldest_since(self) -> float:
        """Return since when the oldest frame is due. There must be a frame."""
        oldest = self._pending[0]
        return oldest.first_sent[0][1] if oldest.first_sent else max(oldest.given_at, self._progress_at)

    @property
    def oldest_id(self) -> int:
        """Return the sequence id of the oldest frame. There must be a frame."""
        oldest = self._pending[0]
        return oldest.frames.sequence_ids[oldest.confirmed]

    @property
    def is_all_sent(self) -> bool:
        """Return whether all frames are sent on the current connection."""
        return not self._pending or self._pending[-1].sent == self._pending[-1].count

    def add(self, frames: SendFrames, now: float) -> None:
        held = tuple(end - 1 for _, end in frames.chunked) if self._sends_again else ()
        self._pending.append(_Pending(frames, now, frames.frames, held))
        self.nbytes += len(frames.frames)

    def take(self, now: float) -> memoryview | None:
        """Return the next frames to send, and mark them as sent.

        Returns:
            The frames, or None if all are sent or a last chunk waits for receipts.

        """
        pending = next((frames for frames in self._pending if frames.sent < frames.count), None)
        if pending is None:
            return None
        first, held = pending.sent, pending.held[bisect_left(pending.held, pending.sent) :]
        if held[:1] == (first,):
            if pending is not self._pending[0] or pending.confirmed < first:
                return None
            held = held[1:]
        stop = pending.sent = held[0] if held else pending.count
        if not pending.first_sent or pending.first_sent[-1][0] < stop:
            pending.first_sent.append((stop, now))
        return memoryview(pending.data)[pending.place(first, stop)]

    def confirm(self, sequence_id: int, now: float, *, stored: bool) -> str | None:
        """Count a receipt.

        Args:
            sequence_id: The sequence id in the receipt.
            now: The current time.
            stored: Whether the receipt contains a position.

        Returns:
            None, or the reason why the connection is no longer reliable.

        Raises:
            NotStored: The receipt does not prove that the message is stored.

        """
        if not self._pending or sequence_id < self.oldest_id:
            return None  # The receipt confirms the first sending of a frame that was sent twice.
        if sequence_id > self.oldest_id:
            return f"expected the receipt of message {self.oldest_id}, got the one of {sequence_id}"
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
        """Return whether a receipt without a position proves that the oldest frame is stored.

        Brokers that support chunks send such a receipt only for the last chunk.
        """
        index = pending.confirmed
        inner = any(begin <= index < end - 1 for begin, end in pending.frames.chunked)
        return index < pending.tried and not inner

    def prepare_resend(self) -> None:
        """Prepare to send unconfirmed frames again, on a new connection."""
        for pending in self._pending:
            was_sent, pending.sent = pending.sent, pending.confirmed
            pending.tried = max(pending.tried, was_sent)
            for begin, end in pending.frames.chunked:
                if begin < pending.tried and pending.confirmed < end - 1:
                    self._restart_message(pending, begin, end)

    def _restart_message(self, pending: _Pending, begin: int, end: int) -> None:
        """Start a chunked message again as a new one. Its last chunk, and so any later frame, was never sent."""
        pending.attempts += 1
        place = pending.place(begin, end)
        renewed = renew_chunks(pending.data[place], pending.attempts)
        pending.data = pending.data[: place.start] + renewed + pending.data[place.stop :]
        pending.confirmed = pending.sent = min(pending.confirmed, begin)
        pending.tried = begin


class NotStored(Exception):
    """A receipt reports that a message was not stored, and nothing proves that it was stored before."""
