"""The queries of all competitors, in the same words."""

from __future__ import annotations

from typing import Any, Final

import rows

_VALUES: Final = (
    "sum(id) AS ids",
    "sum(length(customer)) AS customers",
    "sum(amount) AS amounts",
    "sum(at DIV 1000) AS times",
    "sum(length(tag)) AS tags",
    "sum(CAST(paid AS INT)) AS paid",
)
# The other connector's __topic is the name of a partition.
_METADATA: Final = (
    "sum(length(__key)) AS keys",
    "count_if(startswith(__topic, 'persistent://public/default/')) AS topics",
    "count(__messageId) AS messages",
    "CAST(max(__publishTime) AS STRING) AS published",
    "CAST(max(__eventTime) AS STRING) AS happened",
    "count(__messageProperties) AS properties",
)
PUBLISHED: Final = "published"
"""Columns that a competitor cannot compute without reading from Pulsar."""

VALUES, ALL, ONE = "values only", "all columns", "one column"

_AGGREGATES: Final = {
    ("json", VALUES): _VALUES,
    ("json", ALL): _VALUES + _METADATA,
    ("json", ONE): ("sum(id) AS ids",),
    ("bytes", ALL): ("sum(length(value)) AS bytes", *_METADATA),
}


def aggregates(value_format: str, which: str) -> list[str]:
    """Return the expressions of an aggregation, with `rows` first."""
    record = "bytes" if value_format == "bytes" else "json"
    return ["count(*) AS rows", *_AGGREGATES[record, which]]


def aggregation(value_format: str, which: str) -> str:
    """Return an aggregation over the view `messages`."""
    return f"SELECT {', '.join(aggregates(value_format, which))} FROM messages"


def columns(value_format: str, which: str) -> list[str]:
    """Return the columns that the query uses."""
    chosen = {
        VALUES: list(rows.value_columns(value_format)),
        ALL: list(rows.columns(value_format)),
        ONE: ["id"],
    }
    return chosen[which]


def check_answers(what: str, answers: dict[str, dict[str, Any]], expected_rows: int) -> None:
    """Check the answers; raises AssertionError if a competitor's rows differ from the others'."""
    kept = {
        name: {key: value for key, value in answer.items() if key != PUBLISHED}
        for name, answer in answers.items()
    }
    published = {answer[PUBLISHED] for name, answer in answers.items() if PUBLISHED in answer}
    first = next(iter(kept.values()))
    assert all(answer == first for answer in kept.values()), f"{what}: expected equal answers, got {answers}"
    assert first["rows"] == expected_rows, f"{what}: expected {expected_rows} rows, got {first['rows']}"
    assert len(published) <= 1, f"{what}: expected one newest time of publishing, got {answers}"
