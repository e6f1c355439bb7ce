"""Records of the index log, and their encoding.

A record is the payload of one message:

    "PPCK"  u8 version  u32 length of the header  header  body  u32 CRC-32C of all previous bytes

Numbers are big endian. The header is a JSON object in UTF-8. The body contains the content of small files. Version 1
has the headers below. A reader raises an error for an unknown version or kind, because such a record may change the
state.

    key  in           meaning
    k    all          the kind, below
    n    all          id of the record: 16 hexadecimal digits; a second copy of a record has no effect
    o    all          owner: the writer; the record has an effect only if the last TAKEOVER names this owner
    t    all          time of writing in Unix milliseconds, by the writer's clock
    p    all          "ledger:entry" of the last record that the writer had applied; null if there was none
    s    all          "ledger:entry" of the anchor of the last snapshot that the writer had read; null if none

    kind           further keys
    FORMAT         is the first record of the log
    TAKEOVER       makes `o` the owner; later records of other owners have no effect
    PUT            path, length, and either chunks or a body; replaces a file at the path
    PUT_IF_ABSENT the keys of PUT; no effect if the path exists
    DELETE         path, recursive
    RENAME         path, target, overwrite
    MKDIR          path; creates this folder and missing parent folders
    MOVE           file, chunks: the new positions of the file's bytes; no effect if the file does not exist
    UPLOAD         file, at: from the position `at` on, the content log contains chunks of the file that no PUT names
                   yet; if `at` is null, the upload has ended
    FLOOR          at: the first needed position of the content log; a PUT or MOVE that names an earlier chunk has no
                   effect
    SNAPSHOT       snapshot, part, parts, anchor and a part of the state; see `snapshot`

Chunks are `[ledger, entry, length, CRC-32C]`, in the order of the file's bytes.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, parse_position, position_text
from pyspark_pulsar.codec.digests import crc32c
from pyspark_pulsar.errors import CheckpointLost, UnsupportedEntryError
from pyspark_pulsar.runtime import secrets

VERSION: Final = 1
_MAGIC: Final = b"PPCK"
_HEAD: Final = struct.Struct(">4sBI")
_CHECKSUM: Final = struct.Struct(">I")
_COMMON: Final = frozenset({"k", "n", "o", "t", "p", "s"})


class Kind(StrEnum):
    """The kind of a record; the head of this module describes the kinds."""

    FORMAT = "FORMAT"
    TAKEOVER = "TAKEOVER"
    PUT = "PUT"
    PUT_IF_ABSENT = "PUT_IF_ABSENT"
    DELETE = "DELETE"
    RENAME = "RENAME"
    MKDIR = "MKDIR"
    MOVE = "MOVE"
    UPLOAD = "UPLOAD"
    FLOOR = "FLOOR"
    SNAPSHOT = "SNAPSHOT"


_KINDS: Final = frozenset(kind.value for kind in Kind)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file: the position, length and checksum of one message of the content log."""

    ledger: int
    entry: int
    length: int
    checksum: int

    @property
    def position(self) -> MessagePosition:
        """The position of the chunk's message in the content log."""
        return (self.ledger, self.entry)

    def as_json(self) -> list[int]:
        """Return the chunk as `[ledger, entry, length, CRC-32C]` for a header."""
        return [self.ledger, self.entry, self.length, self.checksum]


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the index: a change, its writer and its time.

    Attributes:
        time_ms: The time of writing in Unix milliseconds, by the writer's clock.
        seen: Position of the last record that the writer had applied; None if there was none.
        anchor: Anchor of the last snapshot that the writer had read; None if there was none.
        details: The keys for this kind of record, without the keys that all kinds have.
        body: The bytes of small files; empty for other records.

    """

    kind: Kind
    id: str
    owner: str
    time_ms: int
    seen: MessagePosition | None
    anchor: MessagePosition | None
    details: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""


def new_id() -> str:
    """Return a new random id for a record or a file."""
    return secrets.token_hex(8)


def chunks_of(value: Any) -> tuple[Chunk, ...]:
    """Parse the list of chunks in a header. Raises ValueError, TypeError."""
    return tuple(Chunk(*(int(number) for number in chunk)) for chunk in value)


def encode(record: Record) -> bytes:
    """Encode a record as the payload of a message."""
    header = {
        "k": record.kind.value,
        "n": record.id,
        "o": record.owner,
        "t": record.time_ms,
        "p": position_text(record.seen),
        "s": position_text(record.anchor),
        **record.details,
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    whole = b"".join((_HEAD.pack(_MAGIC, VERSION, len(text)), text, record.body))
    return whole + _CHECKSUM.pack(crc32c(whole))


def decode(data: bytes, where: str) -> Record:
    """Decode a record.

    Args:
        data: The payload of a message.
        where: The topic and the position of the message, for error texts.

    Raises:
        CheckpointLost: The bytes are damaged, or are not a record.
        UnsupportedEntryError: A later version of pyspark-pulsar wrote the record.

    """
    whole, checksum = data[: -_CHECKSUM.size], data[-_CHECKSUM.size :]
    if not data.startswith(_MAGIC) or len(data) < _HEAD.size + _CHECKSUM.size:
        raise CheckpointLost(
            f"{where}: expected a record of a checkpoint's index, got {len(data)} other bytes; let only "
            f"pyspark-pulsar write to this topic"
        )
    if crc32c(whole) != _CHECKSUM.unpack(checksum)[0]:
        raise CheckpointLost(
            f"{where}: expected a record with a matching CRC-32C, got damaged bytes; restore the checkpoint from a "
            f"copy (pyspark-pulsar checkpoint copy)"
        )
    _, version, length = _HEAD.unpack_from(whole)
    if version != VERSION:
        raise _unsupported(where, f"version {version}")
    try:
        header = json.loads(whole[_HEAD.size : _HEAD.size + length].decode("utf-8", "surrogatepass"))
        return _record(header, whole[_HEAD.size + length :], where)
    except (ValueError, KeyError, TypeError) as fault:
        raise CheckpointLost(
            f"{where}: expected a record of a checkpoint's index, got one with another form ({fault!r}); let only "
            f"pyspark-pulsar write to this topic"
        ) from None


def _record(header: dict[str, Any], body: bytes, where: str) -> Record:
    if header["k"] not in _KINDS:
        raise _unsupported(where, f"kind {header['k']!r}")
    details = {key: value for key, value in header.items() if key not in _COMMON}
    return Record(
        kind=Kind(header["k"]),
        id=str(header["n"]),
        owner=str(header["o"]),
        time_ms=int(header["t"]),
        seen=parse_position(header["p"]),
        anchor=parse_position(header["s"]),
        details=details,
        body=body,
    )


def _unsupported(where: str, what: str) -> UnsupportedEntryError:
    return UnsupportedEntryError(
        f"{where}: expected a record of version {VERSION}, got {what}, which a later pyspark-pulsar has written; "
        f"upgrade pyspark-pulsar"
    )
