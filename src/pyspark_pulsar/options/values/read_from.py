"""The values of option `readFrom`. With `AUTO`, a read can use every location.

Each other value names the only location that a read can use.
"""

from __future__ import annotations

from typing import Final

AUTO: Final = "auto"
BROKER: Final = "broker"
BOOKIE: Final = "bookie"
TIERED: Final = "tiered"
COLUMNS: Final = "columns"
ALL: Final = (AUTO, BROKER, BOOKIE, TIERED, COLUMNS)
