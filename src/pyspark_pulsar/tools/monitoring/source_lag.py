"""How far a source of a streaming query is behind, as it stands in the query's progress. Pure.

What a stream measures travels in the JSON text `sources[].latestOffset` of its progress
(`read.microbatch.progress.lag`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark_pulsar.spark.progress_offset import offset_document


@dataclass(frozen=True, slots=True)
class Behind:
    """What has not been committed; None is not known."""

    messages: int | None = 0
    """About."""
    bytes: int | None = 0
    """About; as stored."""
    seconds: float | None = 0.0
    """The age of the oldest message."""


NOT_BEHIND = Behind()


@dataclass(frozen=True, slots=True)
class SourceLag:
    """How far one source of a query was behind when its last micro-batch was planned; nothing while it is idle."""

    query_id: str
    query_name: str | None
    source: int
    """Counts the sources of the query from 0, in Spark's order."""
    batch_id: int
    rows: int
    """Read since the listener was added, or the query was started if that is later."""
    measured_ms: int
    """Unix milliseconds."""
    total: Behind
    partitions: Mapping[str, Behind] = field(default_factory=dict)
    """Every topic partition that the source reads, by its full name."""

    def idle(self, now_ms: int) -> SourceLag:
        """Spark found nothing new at a trigger, at this time in Unix milliseconds: it is behind by nothing."""
        partitions = dict.fromkeys(self.partitions, NOT_BEHIND)
        return replace(self, measured_ms=now_ms, total=NOT_BEHIND, partitions=partitions)


def source_lag(document: Mapping[str, Any], known: SourceLag) -> SourceLag:
    """`known` with what the JSON object of a stream's latest offset says of its lag."""
    lag = document["lag"]
    named = {name: _behind(behind) for name, behind in lag["partitions"].items()}
    partitions = {name: named.get(name, NOT_BEHIND) for name in sorted({*document["positions"], *named})}
    return replace(known, measured_ms=int(lag["measuredAt"]), total=_behind(lag), partitions=partitions)


def lag_document(text: str | None) -> dict[str, Any] | None:
    """The JSON object of a source's latest offset; None of a source that is not ours."""
    document = offset_document(text)
    is_ours = isinstance(document, dict) and "positions" in document and "lag" in document
    return document if is_ours else None


def _behind(document: Mapping[str, Any]) -> Behind:
    return Behind(document["messages"], document["bytes"], document["seconds"])
