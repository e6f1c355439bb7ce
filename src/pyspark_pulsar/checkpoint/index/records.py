"""Records of the index log, and their bytes.

A record is the payload of one message:

    "PPCK"  u8 version  u32 length of the header  header  body  u32 CRC-32C of all before

Numbers are big endian. The header is a JSON object in UTF-8; the body holds the content of small files. Version 1 has
these headers; a reader refuses a version, or a kind, that it does not know, since it may change the state.

    key  in           meaning
    k    all          the kind, below
    n    all          id of the record: 16 hexadecimal digits; a record that is stored twice counts once
    o    all          owner: whoever wrote it; it counts only if the last TAKEOVER names the same one
    t    all          Unix milliseconds, by the writer's clock
    p    all          "ledger:entry" of the last record that the writer had applied; null before the first
    s    all          "ledger:entry" of the anchor of the last snapshot that the writer knows; null without one

    kind           further keys
    FORMAT         begins the log
    TAKEOVER       from now on only records of `o` count
    PUT            path, length, and chunks or else the body; replaces a file
    PUT_IF_ABSENT  the same; nothing where there is something at the path
    DELETE         path, recursive
    RENAME         path, target, overwrite
    MKDIR          path; folders above it are made too
    MOVE           file, chunks: the same bytes lie elsewhere now; nothing where there is no file of that id
    UPLOAD         file, at: chunks of it lie in the content log from there on, although no PUT names them yet; at null
                   ends that
    FLOOR          at: nothing in the content log before it is needed, and PUTs that name chunks there do not count
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
    """See the module's head."""

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
    """Bytes of a file in one message of the content log."""

    ledger: int
    entry: int
    length: int
    checksum: int

    @property
    def position(self) -> MessagePosition:
        return (self.ledger, self.entry)

    def as_json(self) -> list[int]:
        return [self.ledger, self.entry, self.length, self.checksum]


@dataclass(frozen=True, slots=True)
class Record:
    """One change. `details` are the keys that its kind has beside the common ones."""

    kind: Kind
    id: str
    owner: str
    time_ms: int
    seen: MessagePosition | None
    anchor: MessagePosition | None
    details: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""


def new_id() -> str:
    return secrets.token_hex(8)


def chunks_of(value: Any) -> tuple[Chunk, ...]:
    """Raises ValueError, TypeError."""
    return tuple(Chunk(*(int(number) for number in chunk)) for chunk in value)


def encode(record: Record) -> bytes:
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
    """`where` names topic and message. Raises `CheckpointLost` for damage, `UnsupportedEntryError` for a record of a
    later version."""
    whole, checksum = data[: -_CHECKSUM.size], data[-_CHECKSUM.size :]
    if not data.startswith(_MAGIC) or len(data) < _HEAD.size + _CHECKSUM.size:
        raise CheckpointLost(
            f"{where}: expected a record of a checkpoint's index, got {len(data)} bytes of something else; nothing but "
            f"pyspark-pulsar may write to this topic"
        )
    if crc32c(whole) != _CHECKSUM.unpack(checksum)[0]:
        raise CheckpointLost(
            f"{where}: expected a record whose CRC-32C fits, got damaged bytes; restore the checkpoint from a copy "
            f"(pyspark-pulsar checkpoint copy)"
        )
    _, version, length = _HEAD.unpack_from(whole)
    if version != VERSION:
        raise _unsupported(where, f"version {version}")
    try:
        header = json.loads(whole[_HEAD.size : _HEAD.size + length].decode("utf-8", "surrogatepass"))
        return _record(header, whole[_HEAD.size + length :], where)
    except (ValueError, KeyError, TypeError) as fault:
        raise CheckpointLost(
            f"{where}: expected a record of a checkpoint's index, got one with another form ({fault!r}); nothing but "
            f"pyspark-pulsar may write to this topic"
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
        f"{where}: expected a record of version {VERSION}, got {what}, which a later pyspark-pulsar has written; use "
        f"that"
    )
