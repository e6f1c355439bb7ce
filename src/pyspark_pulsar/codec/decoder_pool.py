"""Kernel decoders at rest, for the next split of the same query that this worker process reads.

Spark keeps its Python workers, and a stream gives them a split of every partition for each micro-batch. What a
decoder has learnt (its plan for every schema version) serves them all; what it holds of a finished split is
nothing. Decoders that failed, or whose split was not read to its end, do not come back.

What a decoder has learnt rests with it. It serves another split only if the registry holds the same document under each
of these versions for that split too: a topic that was made again has other documents under the same versions. These
questions cost nothing within the ledgers that the worker has read before (`read.task.schema_cache`). A decoder that has
learnt many versions does not come back, so that a split never asks for many that it does not need.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark_pulsar.errors import PulsarError

if TYPE_CHECKING:
    from pyspark_pulsar._kernel import Decoder
    from pyspark_pulsar.schema.info import SchemaInfo

_MOST: Final = 8
_MOST_VERSIONS: Final = 8


@dataclass(frozen=True, slots=True)
class RestingDecoder:
    """A kernel's decoder, and what the registry answered for each schema version that it knows."""

    decoder: Decoder
    learnt: Mapping[bytes, SchemaInfo | None]

    def serves(self, fetch_schema: Callable[[bytes], SchemaInfo | None]) -> bool:
        """Return whether the registry gives another split the same answers."""
        try:
            return all(fetch_schema(version) == info for version, info in self.learnt.items())
        except PulsarError:
            # The split may not need what could not be fetched; it asks for what it needs.
            return False


class DecoderPool:
    """Thread safe; each decoder that is taken belongs to the taker alone. Keeps the 8 last given back."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._resting: OrderedDict[int, tuple[Hashable, RestingDecoder]] = OrderedDict()

    def take(self, key: Hashable) -> RestingDecoder | None:
        """Return the decoder last given back under `key`; None when there is none."""
        with self._lock:
            for place, (known, resting) in reversed(self._resting.items()):
                if known == key:
                    del self._resting[place]
                    return resting
        return None

    def give_back(self, key: Hashable, decoder: Decoder, learnt: Mapping[bytes, SchemaInfo | None]) -> None:
        """Keep `decoder`, which has handed out every row of its range. `learnt`: the registry's answers that it was
        told."""
        if len(learnt) > _MOST_VERSIONS:
            return
        with self._lock:
            self._resting[id(decoder)] = (key, RestingDecoder(decoder, learnt))
            while len(self._resting) > self._most:
                self._resting.popitem(last=False)


DECODERS: Final = DecoderPool()
"""Of this process."""
