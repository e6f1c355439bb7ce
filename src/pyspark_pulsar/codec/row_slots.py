"""Rows by the hash slots of their keys, where they are columns already."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pyspark_pulsar import _kernel

SLOT_COLUMNS: Final = ("__orderingKey", "__key", "__producerName", "__sequenceId")
"""The metadata columns that decide about a row's slot."""


def within_slots(rows: pa.RecordBatch, slots: tuple[int, int]) -> pa.BooleanArray:
    """Which rows `RowFilter.slots` wants: those that the kernel gives where it decodes their messages. `rows` has the
    `SLOT_COLUMNS`, of the types that reads give them."""
    return pa.record_batch(_kernel.within_slots(rows.select(SLOT_COLUMNS), *slots)).column(0)
