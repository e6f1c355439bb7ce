"""The words of option `readFrom`. `AUTO` lets a read use every place; each other word names the only one."""

from __future__ import annotations

from typing import Final

AUTO: Final = "auto"
BROKER: Final = "broker"
BOOKIE: Final = "bookie"
TIERED: Final = "tiered"
COLUMNS: Final = "columns"
ALL: Final = (AUTO, BROKER, BOOKIE, TIERED, COLUMNS)
