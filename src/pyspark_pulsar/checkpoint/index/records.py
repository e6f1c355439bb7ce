"""Records of the index log, and their bytes.

A record is the payload of one message:

    "PPCK"  u8 version  u32 length of the header  header  body  u32 CRC-32C of all before

Numbers are big endian. The header is a JSON object in UTF-8. The body contains the content of small files. Version 1
has the headers below. A reader refuses an unknown version or kind, because it may change the state.

    key  in           meaning
    k    all          the kind, below
    n    all          id of the record: 16 hexadecimal digits; a record that is stored twice counts once
    o    all          owner: the writer; the record counts only if the last TAKEOVER names the same owner
    t    all          Unix milliseconds, by the writer's clock
    p    all          "ledger:entry" of the last record that the writer had applied; null before the first
    s    all          "ledger:entry" of the anchor of the last snapshot that the writer knows; null without one

    kind           further keys
    FORMAT         begins the log
    TAKEOVER       from now on only records of `o` count
    PUT            path, length, and either chunks or a body; replaces a file
    PUT_IF_ABSENT  the same; no effect if the path exists
    DELETE         path, recursive
    RENAME         path, target, overwrite
    MKDIR          path; creates the folders above it too
    MOVE           file, chunks: the new positions of the same bytes; no effect without a file of that id
    UPLOAD         file, at: the content log contains chunks of the file from this position on, and no PUT names them
                   yet; null ends this
    FLOOR          at: the first position of the content log that is needed; a PUT with an earlier chunk does not count
    SNAPSHOT       snapshot, part, parts, anchor and a part of the state; see `snapshot`

Chunks are `[ledger, entry, length, CRC-32C]`, in the order of the file's bytes.
"""

from __future__ import annotations

import json
import secrets
import struct
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from pyspark_pulsar.checkpoint.messages.message_position import MessagePosition, parse_position, position_text
from pyspark_pulsar.codec.digests import crc32c
from pyspark_pulsar.errors import CheckpointLost, UnsupportedEntryError

VERSION: Final = 1
_MAGIC: Final = b"PPCK"
_HEAD: Final = struct.Struct(">4sBI")
_CHECKSUM: Final = struct.Struct(">I")
_COMMON: Final = frozenset({"k", "n", "o", "t", "p", "s"})


class Kind(StrEnum):
    """The kinds of records, which the head of this module describes."""

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
    """The position, length and checksum of a part of a file, which is one message of the content log."""

    ledger: int
    entry: int
    length: int
    checksum: int

    @property
    def position(self) -> MessagePosition:
        """Position of the message."""
        return (self.ledger, self.entry)

    def as_json(self) -> list[int]:
        """Return the form in headers."""
        return [self.ledger, self.entry, self.length, self.checksum]


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the index: a change, its writer and its time.

    Attributes:
        time_ms: Unix milliseconds by the writer's clock.
        seen: Position of the last record that the writer had applied.
        anchor: Anchor of the last snapshot that the writer knows.
        details: The keys of the record's kind, without the common ones.
        body: The bytes of small files.

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
    """Return a random id of a record or file."""
    return secrets.token_hex(8)


def chunks_of(value: Any) -> tuple[Chunk, ...]:
    """Parse the chunks of a header. Raises ValueError, TypeError."""
    return tuple(Chunk(*(int(number) for number in chunk)) for chunk in value)


def encode(record: Record) -> bytes:
    """Return the payload of a record's message."""
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
        where: Topic and message, for error texts.

    Raises:
        CheckpointLost: The bytes are damaged, or are no record.
        UnsupportedEntryError: A later version wrote the record.

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
