"""The lag of a streaming query's source, from the query's progress. This module does no I/O.

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
    """The messages that a query has not committed yet. An unknown number is None.

    Attributes:
        messages: The estimated number of messages.
        bytes: The estimated stored size of the messages, in bytes.
        seconds: The age of the oldest message, in seconds.

    """

    messages: int | None = 0
    bytes: int | None = 0
    seconds: float | None = 0.0


NO_LAG = Lag()


@dataclass(frozen=True, slots=True)
class SourceLag:
    """The lag of one source of a query, measured when the query's last micro-batch was planned.

    The lag of an idle query is 0.

    Attributes:
        source: The number of the source in Spark's order, from 0.
        rows: The number of rows that this run of the query has read since the listener was added.
        measured_ms: The time of the measurement, in Unix milliseconds.
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
        """Return a copy whose lag is 0, for a time at which Spark found no new message.

        `now_ms` is this time in Unix milliseconds.
        """
        partitions = dict.fromkeys(self.partitions, NO_LAG)
        return replace(self, measured_ms=now_ms, total=NO_LAG, partitions=partitions)


def source_lag(document: Mapping[str, Any], known: SourceLag) -> SourceLag:
    """Return a copy of `known` with the lag from `document`, the JSON object of a stream's latest offset."""
    lag = document["lag"]
    named = {name: _parse_lag(part) for name, part in lag["partitions"].items()}
    partitions = {name: named.get(name, NO_LAG) for name in sorted({*document["positions"], *named})}
    return replace(known, measured_ms=int(lag["measuredAt"]), total=_parse_lag(lag), partitions=partitions)


def lag_document(text: str | None) -> dict[str, Any] | None:
    """Parse a source's latest offset into a JSON object, or return None if the source does not read from Pulsar."""
    document = offset_document(text)
    is_ours = isinstance(document, dict) and "positions" in document and "lag" in document
    return document if is_ours else None


def _parse_lag(document: Mapping[str, Any]) -> Lag:
    return Lag(document["messages"], document["bytes"], document["seconds"])
