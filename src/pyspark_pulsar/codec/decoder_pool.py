"""Idle kernel decoders, for the next split of the same query that this worker process reads.

Spark keeps its Python workers, and a worker of a stream reads splits of all partitions in each micro-batch. A decoder
keeps its plan for every schema version, which serves all splits, and no data of a finished split. Decoders that failed,
or whose split was not read to its end, are not kept.

A decoder is kept together with the schemas that it knows. The decoder is reused for another split only if the
registry returns the same schemas for the same versions in that split. A topic that was deleted and created
again has other schemas under the same versions. The comparison is cheap within the ledgers that the worker
has read before (`read.task.schema_cache`). A decoder with many versions is not kept, because the next split
would fetch the schemas of all of them.
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
class IdleDecoder:
    """An idle kernel decoder, and the registry's answer for each schema version that it knows."""

    decoder: Decoder
    known_schemas: Mapping[bytes, SchemaInfo | None]

    def serves(self, fetch_schema: Callable[[bytes], SchemaInfo | None]) -> bool:
        """Return whether the registry returns the same schemas for another split."""
        try:
            return all(fetch_schema(version) == info for version, info in self.known_schemas.items())
        except PulsarError:
            # The split may not need the schema that could not be fetched. It fetches the schemas that it
            # needs.
            return False


class DecoderPool:
    """A thread-safe pool of the last 8 idle decoders. A decoder that was taken belongs to its caller alone."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[Hashable, IdleDecoder]] = OrderedDict()

    def take(self, key: Hashable) -> IdleDecoder | None:
        """Return the decoder that was last put into the pool under `key`, or None."""
        with self._lock:
            for place, (known, idle) in reversed(self._idle.items()):
                if known == key:
                    del self._idle[place]
                    return idle
        return None

    def give_back(
        self, key: Hashable, decoder: Decoder, known_schemas: Mapping[bytes, SchemaInfo | None]
    ) -> None:
        """Keep a decoder that has returned every row of its range.

        Args:
            key: The query, and all options that the decoder was made with.
            decoder: The decoder.
            known_schemas: The registry's answers for the versions that the decoder knows.

        """
        if len(known_schemas) > _MOST_VERSIONS:
            return
        with self._lock:
            self._idle[id(decoder)] = (key, IdleDecoder(decoder, known_schemas))
            while len(self._idle) > self._most:
                self._idle.popitem(last=False)


DECODERS: Final = DecoderPool()
"""The pool of this process."""
