"""Which messages of a range are wanted, by what they say of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from pyspark_pulsar.time_window import ALL_TIMES, TimeWindow


class _Arguments(TypedDict):
    published_from: int | None
    published_before: int | None
    event_before: int | None
    event_from: int | None
    keys: frozenset[bytes] | None
    slots: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A message that is filtered is not decoded, so that it is never an error; one that is damaged is, since nobody
    knows whether it is wanted. The default wants all messages."""

    window: TimeWindow = ALL_TIMES
    """Those whose `__publishTime` and `__eventTime` lie in it."""
    event_from: int | None = None
    """Those whose `__eventTime` is this (Unix milliseconds) or later."""
    keys: frozenset[bytes] | None = None
    """Those whose `__key` is one of these; none has a key that is null."""
    slots: tuple[int, int] | None = None
    """Those whose ordering key, else key, lies in these hash slots of Pulsar's Key_Shared subscriptions, the second
    exclusive; messages without either go by their entry's producer name and sequence id."""

    @property
    def wants_all(self) -> bool:
        return self == RowFilter()

    def arguments(self) -> _Arguments:
        """As the kernel takes them."""
        return {
            "published_from": self.window.published_from,
            "published_before": self.window.published_before,
            "event_before": self.window.event_before,
            "event_from": self.event_from,
            "keys": self.keys,
            "slots": self.slots,
        }
