"""Chunks that are gone while they are looked for: an error, or a warning where loss is allowed."""

from __future__ import annotations

import logging
import struct
from typing import Any

import pytest
from unit.codec.handmade_entries import TOPIC, no_fetch, proto

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import EarlierRanges, Intake
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.schema.read_schema import resolve_read_schema


def rows(*, trimmed_is_loss: bool) -> list[dict[str, Any]]:
    """Return the entries of the last of two chunks and of a message after it."""

    def earlier(_ledger: int, _entry: int, _chunks: int) -> EarlierRanges:
        raise DataLossError("the topic now ends before it")
        yield

    decoder = EntryDecoder(
        resolve_read_schema(None, topic=TOPIC, columns=["value"]),
        topic=TOPIC,
        partition=-1,
        fetch_schema=no_fetch,
        intake=Intake(earlier=earlier, trimmed_is_loss=trimmed_is_loss),
    )
    entries = EntryBatch()
    for number, chunk in enumerate((((26, b"u"), (27, 2), (28, 99), (29, 1)), ())):
        metadata = proto((1, b"p"), (2, number), (3, 1), *chunk)
        entries.push(7, number, struct.pack(">I", len(metadata)) + metadata + b"%d" % number)
    found = [row for batch in decoder.decode(entries) for row in batch.to_pylist()]
    return found + [row for batch in decoder.finish() for row in batch.to_pylist()]


def test_a_loss_names_the_message() -> None:
    with pytest.raises(DataLossError, match="ledger 7, entry 0: looking back for the first of the 2 chunks"):
        rows(trimmed_is_loss=True)


def test_a_read_continues_if_data_loss_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert rows(trimmed_is_loss=False) == [{"value": b"1"}]
    assert "the topic now ends before it" in caplog.text
    assert "because retention removed its first chunks: topic" in caplog.text
