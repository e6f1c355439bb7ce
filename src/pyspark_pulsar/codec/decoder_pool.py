"""Kernel decoders at rest, for the next split of the same query that this worker process reads.

Spark keeps its Python workers, and a stream gives them a split of every partition for each micro-batch. What a
decoder has learnt (its plan for every schema version) serves them all; what it holds of a finished split is
nothing. Decoders that failed, or whose split was not read to its end, do not come back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import Decoder

_MOST: Final = 8


class DecoderPool:
    """Thread safe; each decoder that is taken belongs to the taker alone. Keeps the 8 last given back."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._resting: OrderedDict[int, tuple[Hashable, Decoder]] = OrderedDict()

    def take(self, key: Hashable) -> Decoder | None:
        """The decoder last given back under `key`; None when there is none."""
        with self._lock:
            for place, (known, decoder) in reversed(self._resting.items()):
                if known == key:
                    del self._resting[place]
                    return decoder
        return None

    def give_back(self, key: Hashable, decoder: Decoder) -> None:
        """`decoder` has handed out every row of its range."""
        with self._lock:
            self._resting[id(decoder)] = (key, decoder)
            while len(self._resting) > self._most:
                self._resting.popitem(last=False)


DECODERS: Final = DecoderPool()
"""Of this process."""
