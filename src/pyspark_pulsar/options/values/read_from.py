"""The values of option `readFrom`. With `AUTO` a read may use every location; each other value names the only one."""

from __future__ import annotations

from typing import Final

AUTO: Final = "auto"
BROKER: Final = "broker"
BOOKIE: Final = "bookie"
TIERED: Final = "tiered"
COLUMNS: Final = "columns"
ALL: Final = (AUTO, BROKER, BOOKIE, TIERED, COLUMNS)
