"""What all measures of bench/peers share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from competitors import Sessions
from topics import Topics


@dataclass(frozen=True)
class Bench:
    sessions: Sessions
    topics: Topics
    scratch: Path
    rows: int
    catch_up_rows: tuple[int, ...]
    latency_rates: tuple[int, ...]
    latency_seconds: float
    repeat: int
