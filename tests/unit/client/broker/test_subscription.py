"""Markers on the cursor of a replicated subscription, and the entries requested to reach them."""

from collections import deque
from dataclasses import dataclass
from typing import Any

from pyspark_pulsar.client.broker.subscription import Cursor


@dataclass(frozen=True)
class Entries:
    num_messages: int
    last: tuple[int, int]

    def gaps(self, _: tuple[int, int]) -> list[object]:
        return []


class Waiting:
    """A connection with entries that wait for its one consumer."""

    is_open = True

    def __init__(self) -> None:
        self.entries: deque[Entries] = deque()

    def new_id(self) -> int:
        return 1

    def add_consumer(self, _: int, __: Any) -> None:
        pass

    def send_bytes(self, _: bytes) -> None:
        pass

    def take_entries(self, _: int) -> Entries | None:
        return self.entries.popleft() if self.entries else None


def test_more_entries_than_requested_are_accepted() -> None:
    """Brokers send whole reads of batches; what is left would fill the connection, which is the query's own."""
    connection = Waiting()
    cursor = Cursor(connection, "t", "s", 1.0)  # type: ignore[arg-type]
    cursor.look_ahead()
    for entry in range(100):
        connection.entries.append(Entries(1_000, (1, entry)))
        cursor.on_entries()
    assert not connection.entries
