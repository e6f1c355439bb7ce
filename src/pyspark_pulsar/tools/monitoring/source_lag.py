"""The lag of a streaming query's source, from the query's progress. Pure.

A stream measures its lag, and reports it in the JSON text `sources[].latestOffset` of its progress
(`read.microbatch.progress.lag`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark_pulsar.spark.progress_offset import offset_document


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag: messages that were not committed. An unknown number is None.

    Attributes:
        messages: An estimate.
        bytes: An estimate of the stored bytes.
        seconds: The age of the oldest message.

    """

    messages: int | None = 0
    bytes: int | None = 0
    seconds: float | None = 0.0


NO_LAG = Lag()


@dataclass(frozen=True, slots=True)
class SourceLag:
    """The lag of one source of a query when its last micro-batch was planned; no lag while the query is idle.

    Attributes:
        source: The number of the source in Spark's order, from 0.
        rows: The rows read since the listener was added, or since a later start of the query.
        measured_ms: Unix milliseconds.
        partitions: The lag of every topic partition that the source reads, by full name.

    """

    query_id: str
    query_name: str | None
    source: int
    batch_id: int
    rows: int
    measured_ms: int
    total: Lag
    partitions: Mapping[str, Lag] = field(default_factory=dict)

    def idle(self, now_ms: int) -> SourceLag:
        """Return a copy without lag, because Spark found no new message at this time in Unix milliseconds."""
        partitions = dict.fromkeys(self.partitions, NO_LAG)
        return replace(self, measured_ms=now_ms, total=NO_LAG, partitions=partitions)


def source_lag(document: Mapping[str, Any], known: SourceLag) -> SourceLag:
    """Return `known` with the lag in the JSON object of a stream's latest offset."""
    lag = document["lag"]
    named = {name: _parse_lag(part) for name, part in lag["partitions"].items()}
    partitions = {name: named.get(name, NO_LAG) for name in sorted({*document["positions"], *named})}
    return replace(known, measured_ms=int(lag["measuredAt"]), total=_parse_lag(lag), partitions=partitions)


def lag_document(text: str | None) -> dict[str, Any] | None:
    """Parse a source's latest offset into a JSON object; return None if it is of another kind of source."""
    document = offset_document(text)
    is_ours = isinstance(document, dict) and "positions" in document and "lag" in document
    return document if is_ours else None


def _parse_lag(document: Mapping[str, Any]) -> Lag:
    return Lag(document["messages"], document["bytes"], document["seconds"])
