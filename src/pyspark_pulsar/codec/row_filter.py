"""Filters on metadata of messages: those of the kernel, which skips messages, and the same ones on decoded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyspark_pulsar import _kernel
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A message that is filtered is not decoded, so that it is never an error; one that is damaged is, since nobody
    knows whether it is wanted. The default wants all messages. The kernel reads these attributes."""

    window: TimeWindow = ALL_TIMES
    """Those whose `__publishTime` and `__eventTime` lie in it."""
    event_from: int | None = None
    """Those whose `__eventTime` is this (Unix milliseconds) or later."""
    keys: frozenset[bytes] | None = None
    """Those whose `__key` is one of these; none has a key that is null."""
    slots: tuple[int, int] | None = None
    """Those whose ordering key, else key, lies in these hash slots of Pulsar's Key_Shared subscriptions, the second
    exclusive; messages without either go by their producer's name and their sequence id."""

    @property
    def published_from(self) -> int | None:
        """Of the window, as are the next two."""
        return self.window.published_from

    @property
    def published_before(self) -> int | None:
        return self.window.published_before

    @property
    def event_before(self) -> int | None:
        return self.window.event_before


SLOT_COLUMNS: Final = ("__orderingKey", "__key", "__producerName", "__sequenceId")
"""The metadata columns that decide about a row's slot."""


def within_slots(rows: pa.RecordBatch, slots: tuple[int, int]) -> pa.BooleanArray:
    """Return which rows `RowFilter.slots` wants, the same as those that the kernel decodes.

    Args:
        rows: Has the `SLOT_COLUMNS`, of the types that reads return.
        slots: The first hash slot, and the first one after the last.

    """
    return pa.record_batch(_kernel.within_slots(rows.select(SLOT_COLUMNS), *slots)).column(0)
