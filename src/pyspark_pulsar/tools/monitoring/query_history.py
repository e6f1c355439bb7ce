"""What a streaming query has told in its progress, source by source, as it is shown while one waits. Pure."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_POINTS: Final = 60
"""How many micro-batches back the lag is shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """One source after one micro-batch; None is not known."""

    batch_id: int
    rows: int
    rows_per_second: float | None
    """Read, by the time that the micro-batch took."""
    messages: int | None
    bytes: int | None
    seconds: float | None
    """How far it was behind when the micro-batch was planned."""
    read_from: str = ""
    """The places of the micro-batch; empty where the session has no jar."""


@dataclass(slots=True)
class QueryHistory:
    """Of one query."""

    name: str
    """Or its id, where it has none."""
    state: str = "starting"
    sources: dict[str, deque[Point]] = field(default_factory=dict)
    """By Spark's description of the source, the oldest micro-batch first."""

    def take(self, progress: Mapping[str, Any]) -> None:
        """The JSON of one progress. One that was taken before changes nothing."""
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
    """Of an offset that Spark gives as text or as an object; nothing of a source that is not ours."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return {}
    lag = offset.get("lag") if isinstance(offset, Mapping) else None
    return lag if isinstance(lag, Mapping) else {}
