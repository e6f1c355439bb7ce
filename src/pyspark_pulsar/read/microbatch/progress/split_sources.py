"""From where micro-batches are read: closed ledgers past the broker, the open ones through it. Driver only."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

from pyspark_pulsar.read.split import Split

_log: Final = logging.getLogger(__name__)


class SplitSources:
    """Used by one thread."""

    def __init__(self) -> None:
        self.present: dict[str, int] = {}
        """How many splits of the last micro-batch are read from where; a split that two readers share counts for
        both."""

    def see(self, splits: Iterable[Split]) -> None:
        """A micro-batch was planned. Logs when it is not read from where the one before was; one without a split says
        nothing of that."""
        found = Counter(name for split in splits for name in {part.location.name for part in split.ranges})
        if found and found.keys() != self.present.keys():
            _log.info("micro-batches are now read from: %s (splits)", _text(found))
        if found:
            self.present = dict(sorted(found.items()))


def _text(found: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(found.items()))
