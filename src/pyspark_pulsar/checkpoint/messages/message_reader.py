"""Decoding messages of a checkpoint's topics. Each entry of these topics contains one message."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition
from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.schema.read_schema import resolve_read_schema


class MessageReader:
    """A decoder of the entries of one topic partition. Only one thread may use an instance."""

    def __init__(self, topic: str, start: Position | None = None, end: Position | None = None) -> None:
        self._decoder = EntryDecoder(
            resolve_read_schema(None, topic=topic, columns=["value", "__messageId"]),
            topic=topic,
            partition=-1,
            fetch_schema=lambda _: None,
            start=start.as_tuple() if start else None,
            end=end.as_tuple() if end else None,
        )
        self.decoded: deque[tuple[MessagePosition, bytes]] = deque()
        """Decoded messages that `index.follower` has not processed yet. No other module uses this queue."""
        self.is_granted = False
        self.last: MessagePosition | None = None
        """Position of the last message that was taken from `decoded`; None before the first one."""

    def read(self, entries: EntryBatch) -> Iterator[tuple[MessagePosition, bytes]]:
        """Yield the position and payload of each message.

        Raises `CorruptEntryError`, `DecodeError`, `UnsupportedEntryError`.
        """
        for batch in (*self._decoder.decode(entries), *self._decoder.finish()):
            positions = batch.column("__messageId").to_pylist()
            values = batch.column("value")
            for row, where in enumerate(positions):
                yield (where["ledger"], where["entry"]), values[row].as_py() or b""
