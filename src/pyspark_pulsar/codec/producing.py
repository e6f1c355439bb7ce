"""How messages become entries, as options say it, in the words of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.codec.public_keys import DataKey, new_data_key
from pyspark_pulsar.options import WriteOptions

_BROKERS_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Producing:
    """`batching` is default, key or none; `chunk_bytes` None means that nothing is cut into chunks, else the kernel
    takes the broker's limit where that is less. `tombstones`: see option `writeTombstones`; `key_column` makes none."""

    batching: str = "default"
    chunk_bytes: int | None = None
    hashing: str = "JavaStringHash"
    tombstones: bool = False
    key_column: str | None = None
    data_key: DataKey | None = None


def producing(options: WriteOptions) -> Producing:
    """For one encoder, as its data key is for no other. Executor only. Raises what `new_data_key` does."""
    chunk_bytes = (options.chunk_max_message_size or _BROKERS_LIMIT) if options.chunking_enabled else None
    return Producing(
        batching=options.batching if options.batching_enabled else "none",
        chunk_bytes=chunk_bytes,
        hashing=options.hashing_scheme,
        tombstones=options.write_tombstones,
        key_column=options.key_column,
        data_key=new_data_key(options),
    )
