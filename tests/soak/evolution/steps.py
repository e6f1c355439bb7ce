"""A schema evolution of a topic as data: its versions and its steps, which can be printed in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF_NATIVE"
ICEBERG = "iceberg"
DELTA = "delta"
PERMISSIVE = "PERMISSIVE"
FAILFAST = "FAILFAST"
DROPMALFORMED = "DROPMALFORMED"
BAD_ROWS = "bad_rows"
"""The column of messages that do not decode."""


@dataclass(frozen=True)
class Version:
    """A version of the topic's schema."""

    document: str
    """The schema in the form that the registry accepts."""
    text: str
    """The schema in a form for people."""
    changes: tuple[str, ...]
    """The differences from the previous version, in words."""


@dataclass(frozen=True)
class Message:
    """A message's payload, encoded by a producer of some version. None is a tombstone."""

    payload: bytes | None
    text: str


@dataclass(frozen=True)
class Register:
    """Register a version of the schema, which is the topic's latest one from then on."""

    version: int


@dataclass(frozen=True)
class Send:
    """Send messages by a producer of a registered version."""

    version: int
    messages: tuple[Message, ...]
    is_batch: bool
    """True if one entry contains all messages."""
    names_version: bool = True
    """True if the entries contain the schema version with which they were written.

    Entries without a version are read with the topic's latest schema.
    """


@dataclass(frozen=True)
class Close:
    """Close the open ledger."""


@dataclass(frozen=True)
class Tier:
    """Tier all closed ledgers."""


@dataclass(frozen=True)
class Trim:
    """Remove all closed ledgers, unless one of them is not in the table."""


@dataclass(frozen=True)
class Read:
    """Read table and topic together, and compare them with the topic that keeps all ledgers."""

    mode: str = PERMISSIVE
    share: float = 1.0
    """The probability that a value column is read."""
    version: int | None = None
    """The registered version with whose columns the topic is read; None if the latest version is used."""
    is_stream: bool = False


Step = Register | Send | Close | Tier | Trim | Read


@dataclass(frozen=True)
class Evolution:
    """The events of one topic and its table."""

    seed: int
    kind: str
    table_format: str
    versions: tuple[Version, ...]
    steps: tuple[Step, ...]

    def lines(self) -> Iterator[str]:
        """Yield the evolution in words, a line for each step."""
        yield f"seed {self.seed}: {self.kind} topic, {self.table_format} table"
        known: set[int] = set()
        for step in self.steps:
            if isinstance(step, Register):
                # The changes describe a version only if its predecessor was not left out.
                words = self.versions[step.version].changes if step.version - 1 in known else ()
                known.add(step.version)
                changed = f" ({'; '.join(words)})" if words else ""
                yield f"register v{step.version}{changed}: {self.versions[step.version].text}"
            else:
                yield from _words(step)

    def __str__(self) -> str:
        return "\n  ".join(self.lines())


def _words(step: Step) -> Iterator[str]:
    match step:
        case Send(number, messages, is_batch, names_version):
            unnamed = "" if names_version else ", which the entries do not name"
            yield f"send {len(messages)} messages by v{number}{' in one entry' if is_batch else ''}{unnamed}:"
            yield from (f"    {message.text}" for message in messages)
        case Close():
            yield "close the ledger"
        case Tier():
            yield "tier"
        case Trim():
            yield "trim"
        case Read(mode, share, number, is_stream):
            what = "all columns" if share == 1.0 else f"columns with probability {share}"
            by = "" if number is None else f" by the columns of v{number}"
            yield f"read {what}{by}, {mode}{', as a stream' if is_stream else ''}"
