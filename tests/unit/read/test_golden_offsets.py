"""Offsets in checkpoints: each is read as it was written, and written again unchanged.

Every form that was ever written stays in golden_offsets.json, and new forms are added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options.values.time_bound import TimeBound
from pyspark_pulsar.read.microbatch.offset import StreamOffset

_DOCUMENTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("golden_offsets.json").read_text(encoding="utf-8")
)
ORDERS = TopicPartition.parse("persistent://public/default/orders-partition-0")
MORE_ORDERS = TopicPartition.parse("persistent://public/default/orders-partition-1")
AUDIT = TopicPartition.parse("persistent://shop/eu/audit")


@pytest.mark.parametrize("name", list(_DOCUMENTS))
def test_a_document_is_written_again_unchanged(name: str) -> None:
    document = _DOCUMENTS[name]
    assert StreamOffset.from_json(document).to_json() == document


def test_the_documents_have_the_expected_meaning() -> None:
    assert StreamOffset.from_json(_DOCUMENTS["1: first micro-batch"]) == StreamOffset(
        {ORDERS: Position(12, 7), MORE_ORDERS: Position(13, 0, 3), AUDIT: EARLIEST},
        {ORDERS: Position(12, 2), MORE_ORDERS: EARLIEST},
    )
    assert StreamOffset.from_json(_DOCUMENTS["2: from a time"]) == StreamOffset(
        {ORDERS: Position(12, 9)}, published_from=TimeBound(all=1767225600000)
    )
    between = StreamOffset.from_json(_DOCUMENTS["2: between two times"])
    assert between.published_from == TimeBound(all=1767225600000)
    assert between.published_before == TimeBound(by_name=((AUDIT, 1767312000000),))
    assert between.ended is None
    assert StreamOffset.from_json(_DOCUMENTS["2: before a time"]).ended == "5c1f6d0b1a4e4f0f8f6f0d9a9b2f7a11"
