"""The progress of each source of a streaming query, for display while the query runs. This module does no I/O."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_POINTS: Final = 60
"""The number of micro-batches for which the lag is shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """The state of one source after one micro-batch. Unknown numbers are None.

    Attributes:
        rows_per_second: Rows read, divided by the duration of the micro-batch.
        messages: Lag in messages when the micro-batch was planned.
        bytes: Lag in bytes when the micro-batch was planned.
        seconds: Lag in seconds when the micro-batch was planned.
        read_from: The locations from which the micro-batch read; empty if the session has no jar.

    """

    batch_id: int
    rows: int
    rows_per_second: float | None
    messages: int | None
    bytes: int | None
    seconds: float | None
    read_from: str = ""


@dataclass(slots=True)
class QueryHistory:
    """The last micro-batches of one query.

    Attributes:
        name: The name of the query, or its id.
        sources: The points of each source, by Spark's description of the source. The point of the oldest micro-batch is
            first.

    """

    name: str
    state: str = "starting"
    sources: dict[str, deque[Point]] = field(default_factory=dict)

    def take(self, progress: Mapping[str, Any]) -> None:
        """Add the progress of one micro-batch, which is a parsed JSON object.

        For each source, nothing changes unless the micro-batch is newer than the last point of the source.
        """
        for number, source in enumerate(progress.get("sources") or ()):
            title = str(source.get("description") or f"source {number}")
            points = self.sources.setdefault(title, deque(maxlen=_POINTS))
            batch_id = int(progress.get("batchId", -1))
            if not points or points[-1].batch_id < batch_id:
                points.append(_point(batch_id, source))


def _point(batch_id: int, source: Mapping[str, Any]) -> Point:
    lag = _lag(source.get("latestOffset"))
    metrics = source.get("metrics") or {}
    rate = source.get("processedRowsPerSecond")
    return Point(
        batch_id,
        int(source.get("numInputRows") or 0),
        float(rate) if isinstance(rate, int | float) else None,
        lag.get("messages"),
        lag.get("bytes"),
        lag.get("seconds"),
        str(metrics.get("readFrom", "")),
    )


def _lag(offset: Any) -> Mapping[str, Any]:
    """Return the lag in an offset. The result is empty for an offset of another kind of source.

    The offset is a JSON object, or its text.
    """
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return {}
    lag = offset.get("lag") if isinstance(offset, Mapping) else None
    return lag if isinstance(lag, Mapping) else {}
