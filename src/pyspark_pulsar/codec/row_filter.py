"""Filters on metadata of messages, for the kernel and for decoded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyspark_pulsar import _kernel
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The filter on metadata of messages, whose attributes the kernel reads.

    The default selects all messages.

    A filtered message is not decoded, so it never causes an error. A damaged message causes one, because its
    metadata cannot show whether it is selected.
    """

    window: TimeWindow = ALL_TIMES
    """The window of `__publishTime` and `__eventTime`."""
    event_from: int | None = None
    """The earliest `__eventTime`, in Unix milliseconds."""
    keys: frozenset[bytes] | None = None
    """The selected values of `__key`. A null key is never selected."""
    slots: tuple[int, int] | None = None
    """The hash slots of Pulsar's Key_Shared subscriptions: the first, and the first one after the last.

    The ordering key of a message decides its slot, or its key if it has no ordering key. Without either, the
    producer name and the sequence id decide.
    """

    @property
    def published_from(self) -> int | None:
        """The start of the window of publish times, in Unix milliseconds."""
        return self.window.published_from

    @property
    def published_before(self) -> int | None:
        return self.window.published_before

    @property
    def event_before(self) -> int | None:
        return self.window.event_before


SLOT_COLUMNS: Final = ("__orderingKey", "__key", "__producerName", "__sequenceId")
"""The metadata columns that decide a row's slot."""


def within_slots(rows: pa.RecordBatch, slots: tuple[int, int]) -> pa.BooleanArray:
    """Return which rows `RowFilter.slots` selects: the same rows that the kernel decodes.

    Args:
        rows: Has the `SLOT_COLUMNS`, of the types that reads return.
        slots: The first hash slot, and the first one after the last.

    """
    return pa.record_batch(_kernel.within_slots(rows.select(SLOT_COLUMNS), *slots)).column(0)
