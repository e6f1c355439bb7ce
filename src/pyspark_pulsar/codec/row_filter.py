"""Which messages of a range are wanted, by what they say of themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A message that is filtered is not decoded, so that it is never an error; one that is damaged is, since nobody
    knows whether it is wanted. The default wants all messages. The kernel reads these attributes."""

    published_from: int | None = None
    """Those whose `__publishTime` is this or later (Unix milliseconds) ..."""
    published_before: int | None = None
    """... and before this."""
    event_before: int | None = None
    """Those whose `__eventTime` is before this (Unix milliseconds), and those without one."""
    event_from: int | None = None
    """Those whose `__eventTime` is this or later."""
    keys: frozenset[bytes] | None = None
    """Those whose `__key` is one of these; none has a key that is null."""
    slots: tuple[int, int] | None = None
    """Those whose ordering key, else key, lies in these hash slots of Pulsar's Key_Shared subscriptions, the second
    exclusive; messages without either go by their entry's producer name and sequence id."""

    @property
    def wants_all(self) -> bool:
        return self == RowFilter()
