"""Filters on the metadata of messages, for the kernel and for decoded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyspark_pulsar import _kernel
from pyspark_pulsar.model.time_window import ALL_TIMES, TimeWindow


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter on the metadata of messages. The kernel reads the attributes of an instance.

    The default selects all messages. A message that the filter does not select is not decoded, so it never causes an
    error. A damaged message does cause an error, because its metadata cannot be trusted.
    """

    window: TimeWindow = ALL_TIMES
    """The bounds of `__publishTime`, and the upper bound of `__eventTime`."""
    event_from: int | None = None
    """The first selected `__eventTime`, inclusive, in Unix milliseconds."""
    keys: frozenset[bytes] | None = None
    """The selected values of `__key`, or None to select all messages. A set selects no message without a key."""
    slots: tuple[int, int] | None = None
    """The selected hash slots of Pulsar's Key_Shared subscriptions: first (inclusive) and end (exclusive), or None.

    None selects all messages. The slot is a hash of the message's ordering key. Without an ordering key, the slot is a
    hash of the message's key. Without both keys, the slot is a hash of the producer name and the sequence id.
    """

    @property
    def published_from(self) -> int | None:
        """Return the first selected publish time, inclusive, in Unix milliseconds, or None if there is no bound."""
        return self.window.published_from

    @property
    def published_before(self) -> int | None:
        return self.window.published_before

    @property
    def event_before(self) -> int | None:
        return self.window.event_before


SLOT_COLUMNS: Final = ("__orderingKey", "__key", "__producerName", "__sequenceId")
"""The metadata columns that determine the hash slot of a row."""


def within_slots(rows: pa.RecordBatch, slots: tuple[int, int]) -> pa.BooleanArray:
    """Return a boolean array: True for each row that `RowFilter.slots` selects.

    The kernel selects the same messages when it decodes with this filter.

    Args:
        rows: Rows with the `SLOT_COLUMNS`, in the types that reads return.
        slots: The selected hash slots: the first slot (inclusive) and the end (exclusive).

    """
    return pa.record_batch(_kernel.within_slots(rows.select(SLOT_COLUMNS), *slots)).column(0)
