"""The position of a subscription, from answers of the admin REST API."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.read.bounds.subscription import parse_cursor


def stats(**cursor: Any) -> dict[str, Any]:
    return {"cursors": {"mine": cursor}}


def test_the_start_is_after_the_acknowledged_messages() -> None:
    assert parse_cursor(stats(markDeletePosition="8:3"), "mine", "w") == (Position(8, 4), "")
    assert parse_cursor(stats(markDeletePosition="13:-1"), "mine", "w") == (Position(13, 0), "")
    assert parse_cursor(stats(markDeletePosition="8:3"), "other", "w") is None


def test_individually_acknowledged_ranges_are_returned() -> None:
    some = stats(markDeletePosition="8:3", individuallyDeletedMessages="[(8:5..8:6],(8:8..8:9]]")
    assert parse_cursor(some, "mine", "w") == (Position(8, 4), "(8:5..8:6],(8:8..8:9]")
    none = stats(markDeletePosition="8:3", individuallyDeletedMessages="[]")
    assert parse_cursor(none, "mine", "w") == (Position(8, 4), "")


@pytest.mark.parametrize("answer", [{}, {"cursors": None}, stats(), stats(markDeletePosition="8")])
def test_an_unknown_answer_is_a_protocol_error(answer: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="where: expected cursors"):
        parse_cursor(answer, "mine", "where")
