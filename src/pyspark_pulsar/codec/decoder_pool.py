"""A pool of idle kernel decoders, for later splits of the same query in the same worker process.

Spark reuses its Python workers, so a worker of a stream reads many splits of different partitions. A decoder stores a
decoding plan for each schema version, and later splits can reuse these plans. A decoder stores no data of a finished
split. The pool accepts only decoders that have read their split to its end without an error.

The pool stores each decoder with the schemas that the decoder knows. A split reuses the decoder only if the registry
still returns the same schema for each schema version that the decoder knows. The pool needs this check, because a topic
that was deleted and created again can have other schemas with the same version numbers. The check is cheap for ledgers
that the worker has read before (`read.task.schema_cache`). The pool refuses a decoder with more than 8 versions,
because the next split would have to fetch all their schemas.
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
    """An idle kernel decoder, and the registry's answer for each schema version that the decoder knows."""

    decoder: Decoder
    known_schemas: Mapping[bytes, SchemaInfo | None]

    def serves(self, fetch_schema: Callable[[bytes], SchemaInfo | None]) -> bool:
        """Return whether the registry still returns the same schema for each version that the decoder knows."""
        try:
            return all(fetch_schema(version) == info for version, info in self.known_schemas.items())
        except PulsarError:
            # The split does not always need the schema whose request failed. A new decoder fetches only the schemas
            # that the split needs.
            return False


class DecoderPool:
    """A thread-safe pool of the 8 latest idle decoders. Only the caller of `take` uses the returned decoder."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[Hashable, IdleDecoder]] = OrderedDict()

    def take(self, key: Hashable) -> IdleDecoder | None:
        """Remove and return the latest decoder in the pool with an equal `key`, or None if there is no such decoder."""
        with self._lock:
            for place, (known, idle) in reversed(self._idle.items()):
                if known == key:
                    del self._idle[place]
                    return idle
        return None

    def give_back(
        self, key: Hashable, decoder: Decoder, known_schemas: Mapping[bytes, SchemaInfo | None]
    ) -> None:
        """Put a decoder into the pool, after the decoder has returned all rows of its range.

        Args:
            key: The query, and all options with which the decoder was created.
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
