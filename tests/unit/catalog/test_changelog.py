"""Conversion of the bounds of CHANGES to the options of a read."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pulsar.catalog.changelog import _bounds
from pyspark_pulsar.errors import CatalogUnsupported
from pyspark_pulsar.model.topic import TopicName

TOPIC = TopicName.parse("persistent://public/default/t")


def bounds(
    kind: str, start: Any = None, end: Any = None, *, first: bool = True, last: bool = True
) -> dict[str, str]:
    told = {"kind": kind, "start": start, "end": end, "start_inclusive": first, "end_inclusive": last}
    return _bounds(TOPIC, {name: value for name, value in told.items() if value is not None})


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (bounds("none"), {}),
        (bounds("version", "earliest"), {"startingOffsets": "earliest"}),
        (bounds("version", "earliest", "latest", first=False), {"startingOffsets": "earliest"}),
        (bounds("version", "7:1:0"), {"startingOffsets": '{"persistent://public/default/t": "7:1:0"}'}),
        (
            bounds("version", '{"*": "latest"}', "8:0", last=False),
            {
                "startingOffsets": '{"*": "latest"}',
                "endingOffsets": '{"persistent://public/default/t": "8:0:0"}',
            },
        ),
        (bounds("timestamp", 1_000_500), {"startingTimestamp": "1001"}),
        (bounds("timestamp", 1_000_000, 2_000_000), {"startingTimestamp": "1000", "endingTimestamp": "2001"}),
        (
            bounds("timestamp", 1_000_000, 2_000_000, first=False, last=False),
            {"startingTimestamp": "1001", "endingTimestamp": "2000"},
        ),
    ],
)
def test_bounds(given: dict[str, str], options: dict[str, str]) -> None:
    assert given == options


def test_a_position_is_the_next_message() -> None:
    with pytest.raises(CatalogUnsupported, match="EXCLUSIVE"):
        bounds("version", "earliest", "8:0")
    with pytest.raises(CatalogUnsupported, match="next message"):
        bounds("version", "8:0", first=False)
