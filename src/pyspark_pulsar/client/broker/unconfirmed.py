"""The unconfirmed frames of a producer. This module selects the frames to send and checks the receipts.

This module does no I/O. A frame passes through these states in order, and receipts arrive in the order of the frames:

    held       The last chunk of a chunked message waits here until all earlier frames are confirmed.
    unsent     The frame has not been sent on the current connection. `take` returns the frame.
    sent       The frame has been sent on the current connection, but its receipt has not arrived.
    confirmed  The topic has stored the frame, unless the topic is non-persistent. When all frames of one call of `add`
               are confirmed, these frames are removed.

The meaning of a receipt depends on its sequence id, compared with the id of the oldest unconfirmed frame:

    lower                                      The receipt is ignored. A frame was sent twice, and this receipt
                                               belongs to the first send.
    equal, with a position                     The frame is stored, so it is confirmed.
    equal, without a position, second send     The broker's deduplication knows the frame, so it is confirmed.
    equal, without a position, first send      Nothing proves that the frame is stored: `NotStored`, the producer fails.
    higher                                     Receipts are missing, so the connection is no longer reliable.

A receipt without a position contains `-1:-1`. The broker's deduplication has rejected the frame, because a frame of the
same producer name with an equal or higher sequence id is already stored. If this producer has already sent the same
frame on an earlier connection, the receipt proves that the frame is stored. The proof holds because no other producer
uses the name and ids, and because brokers store frames in order. For this proof, `tried` counts the unchanged frames of
a group that were sent, and possibly received by a broker, on an earlier connection.

`prepare_resend` makes all unconfirmed frames unsent for the next connection, so each message is stored at least once.

A chunked message is an exception, because sending only its unconfirmed chunks again could lose the message. If a chunk
arrives twice, Pulsar's C++ client drops the message. The official Python client uses the C++ client. Therefore the last
chunk is not sent until all earlier frames are confirmed:

    The connection breaks before the last chunk was sent    No reader has received the whole message. All chunks are
                                                            sent again as a new message with a new uuid, including
                                                            confirmed chunks. `tried` counts no new chunk.
    The connection breaks after the last chunk was sent     Only the last chunk is sent again. If the last chunk is
                                                            already stored, all readers recognize the repetition.

If `sends_again` is False, no frame is sent twice, so the last chunk does not wait. If the connection breaks while a
frame is sent, the producer fails. The only exception is a frame that the broker has certainly refused (`refuse`), if no
other frame is sent. Otherwise the broker could store later frames before the refused frame, in the wrong order.
Therefore with `first_alone`, the first frame on each connection is sent alone. The other frames wait for the receipt of
the first frame. Brokers refuse transactional messages for a moment after they have loaded a topic.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

from pyspark_pulsar.client.broker.connection.transport import SendFrames, renew_chunks


@dataclass
class _Pending:
    """The frames of one call of `add`, which are numbered from 0."""

    frames: SendFrames
    given_at: float
    data: bytes
    held: tuple[int, ...]
    """The numbers of last chunks. A last chunk is sent after all earlier frames are confirmed."""
    confirmed: int = 0
    """Number of confirmed frames. The confirmed frames are the first frames of the group."""
    sent: int = 0
    """Number of frames that were sent on the current connection, or confirmed on an earlier connection."""
    tried: int = 0
    """Number of unchanged frames that were sent, and possibly received by a broker, on an earlier connection."""
    attempts: int = 0
    """Number of times that a chunked message of the group was replaced by a new message."""
    first_sent: deque[tuple[int, float]] = field(default_factory=deque)
    """The first send times of unconfirmed frames. A pair `(stop, time)` applies to all frames before number `stop`,
    except frames of earlier pairs."""

    @property
    def count(self) -> int:
        return len(self.frames.ends)

    def place(self, first: int, stop: int) -> slice:
        """Return the slice of `data` that contains the frames from `first` (inclusive) to `stop` (exclusive)."""
        return slice(self.frames.ends[first - 1] if first else 0, self.frames.ends[stop - 1])

    def confirm_one(self) -> None:
        self.confirmed += 1
        while self.first_sent and self.first_sent[0][0] <= self.confirmed:
            self.first_sent.popleft()


class Unconfirmed:
    """The unconfirmed frames of one producer, in order. Times are from `time.monotonic`. Use one thread at a time."""

    def __init__(self, *, sends_again: bool, first_alone: bool = False) -> None:
        """Start without frames.

        Args:
            sends_again: Whether frames can be sent twice. If False, the last chunk of a message does not wait for
                receipts.
            first_alone: Whether the first frame on each connection is sent alone.

        """
        self._sends_again = sends_again
        self._first_alone = first_alone
        self._is_first = True
        """True until the first receipt on the current connection."""
        self._pending: deque[_Pending] = deque()
        self._progress_at = 0.0
        self.nbytes = 0
        """Total bytes of all groups with an unconfirmed frame. A group counts with all its frames, including confirmed
        frames."""

    def __bool__(self) -> bool:
        return bool(self._pending)

    @property
    def oldest_since(self) -> float:
        """Return the time from which the oldest unconfirmed frame waits for its receipt.

        Use this property only if a frame is unconfirmed.
        """
        oldest = self._pending[0]
        return oldest.first_sent[0][1] if oldest.first_sent else max(oldest.given_at, self._progress_at)

    @property
    def oldest_id(self) -> int:
        """Return the sequence id of the oldest unconfirmed frame. Use this property only if a frame is unconfirmed."""
        oldest = self._pending[0]
        return oldest.frames.sequence_ids[oldest.confirmed]

    @property
    def is_all_sent(self) -> bool:
        """Return whether all frames are sent on the current connection."""
        return not self._pending or self._pending[-1].sent == self._pending[-1].count

    @property
    def sent(self) -> int:
        """Return the number of frames that are sent on the current connection and not confirmed."""
        return sum(pending.sent - pending.confirmed for pending in self._pending)

    @property
    def waits_for_first(self) -> bool:
        """Return whether frames wait for the receipt of the first frame on the current connection."""
        return self._first_alone and self._is_first and self.sent > 0

    def add(self, frames: SendFrames, now: float) -> None:
        held = tuple(end - 1 for _, end in frames.chunked) if self._sends_again else ()
        self._pending.append(_Pending(frames, now, frames.frames, held))
        self.nbytes += len(frames.frames)

    def take(self, now: float) -> memoryview | None:
        """Return the next frames to send, and mark these frames as sent.

        Returns:
            The frames. None if all frames are sent, or if the next frame must wait for receipts.

        """
        if self.waits_for_first:
            return None
        pending = next((frames for frames in self._pending if frames.sent < frames.count), None)
        if pending is None:
            return None
        first, held = pending.sent, pending.held[bisect_left(pending.held, pending.sent) :]
        if held[:1] == (first,):
            if pending is not self._pending[0] or pending.confirmed < first:
                return None
            held = held[1:]
        stop = held[0] if held else pending.count
        if self._first_alone and self._is_first:
            stop = min(stop, first + 1)
        pending.sent = stop
        if not pending.first_sent or pending.first_sent[-1][0] < stop:
            pending.first_sent.append((stop, now))
        return memoryview(pending.data)[pending.place(first, stop)]

    def confirm(self, sequence_id: int, now: float, *, stored: bool) -> str | None:
        """Record a receipt.

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
            return None  # A frame was sent twice, and this receipt belongs to the first send.
        if sequence_id > self.oldest_id:
            return (
                f"expected the receipt of message {self.oldest_id}, got the receipt of message {sequence_id}"
            )
        oldest = self._pending[0]
        if not stored and not self._is_proven(oldest):
            raise NotStored(sequence_id)
        oldest.confirm_one()
        self._is_first = False
        self._progress_at = now
        if oldest.confirmed == oldest.count:
            self._pending.popleft()
            self.nbytes -= len(oldest.data)
        return None

    def _is_proven(self, pending: _Pending) -> bool:
        """Return whether a receipt without a position proves that the oldest unconfirmed frame is stored.

        Brokers that support chunks send a receipt without a position only for the last chunk of a message.
        """
        index = pending.confirmed
        inner = any(begin <= index < end - 1 for begin, end in pending.frames.chunked)
        return index < pending.tried and not inner

    def refuse(self, sequence_id: int) -> None:
        """Make a frame unsent, because the broker has refused the frame and will not store the frame later.

        If other frames are sent too, nothing changes, because the broker can still store the other frames.
        """
        if self.sent == 1 and sequence_id == self.oldest_id:
            self._pending[0].sent = self._pending[0].confirmed

    def prepare_resend(self) -> None:
        """Make all unconfirmed frames unsent, so that `take` returns these frames again for a new connection."""
        self._is_first = True
        for pending in self._pending:
            was_sent, pending.sent = pending.sent, pending.confirmed
            pending.tried = max(pending.tried, was_sent)
            for begin, end in pending.frames.chunked:
                if begin < pending.tried and pending.confirmed < end - 1:
                    self._restart_message(pending, begin, end)

    def _restart_message(self, pending: _Pending, begin: int, end: int) -> None:
        """Replace a chunked message by a new message with the same content.

        The last chunk was not sent, so no later frame was sent either.
        """
        pending.attempts += 1
        place = pending.place(begin, end)
        renewed = renew_chunks(pending.data[place], pending.attempts)
        pending.data = pending.data[: place.start] + renewed + pending.data[place.stop :]
        pending.confirmed = pending.sent = min(pending.confirmed, begin)
        pending.tried = begin


class NotStored(Exception):
    """A receipt reports that the broker rejected a message, and nothing proves that the message was stored before."""
