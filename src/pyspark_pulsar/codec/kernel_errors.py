"""Conversion of kernel errors to the errors that users see. Kernel errors do not contain the topic."""

from __future__ import annotations

import re

from pyspark_pulsar._kernel import KernelError
from pyspark_pulsar.errors import (
    CorruptEntryError,
    DecodeError,
    DecryptionError,
    PulsarError,
    SchemaError,
    SendError,
    UnsupportedEntryError,
)
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo

_MESSAGE = re.compile(r"^message [0-9:-]+: ")
_REMEDY = re.compile(
    r"; (?:add|cast|change|check|correct|drop|leave|lower|make|raise|read|register|rename|report|request|set|simplify"
    r"|start|use|write)\b[^;]*$"
)
"""The remedy at the end of some texts: a semicolon, and a phrase that begins with an imperative."""
_READ_AROUND = re.compile(r"(, or )?read around [a-z ]+ with mode=PERMISSIVE(, or )?")

_READ: dict[str, tuple[type[PulsarError], str]] = {
    "corrupt": (
        CorruptEntryError,
        "start the read after this entry, because its stored bytes are damaged",
    ),
    "payload": (
        DecodeError,
        "correct the producer of the message, or read around the message with mode=PERMISSIVE",
    ),
    "too_large": (
        DecodeError,
        "raise the option maxUncompressedMessageSize, or read around the message with mode=PERMISSIVE",
    ),
    "unsupported": (
        UnsupportedEntryError,
        "upgrade pyspark-pulsar, or read around the message with mode=PERMISSIVE",
    ),
    "encrypted": (
        DecryptionError,
        (
            "set pulsar.consumer.cryptoKeyReader.* to the private key, or set pulsar.consumer.cryptoFailureAction to "
            "DISCARD or CONSUME"
        ),
    ),
    "schema": (
        SchemaError,
        "make the schema versions of the topic compatible",
    ),
}

_WRITE: dict[str, tuple[type[PulsarError], str]] = {
    "payload": (SchemaError, "change or filter this row before writing (no row of its batch was sent)"),
    "schema": (SchemaError, "change the columns or the topic's schema (nothing was sent)"),
    "too_large": (
        SendError,
        (
            "make the row smaller, set pulsar.producer.chunkingEnabled=true, or raise maxMessageSize on the brokers "
            "(no row of its batch was sent)"
        ),
    ),
}


def version_error(why: str, *, topic: str, version: bytes, reader: SchemaInfo | None) -> SchemaError:
    """Return the error for messages whose schema version cannot be resolved to the schema of the query.

    Args:
        why: The reason.
        topic: The full name of the topic, including the suffix of a partition.
        version: The schema version in the metadata of the messages.
        reader: The schema of the query, or None if the topics of the query share a schema.

    """
    own = reader is not None and reader.version
    by = f"schema version {version_text(own)}" if own else "the schema that its topics share"
    return SchemaError(
        f"topic {topic}: expected schema version {version_text(version)} of messages to be readable as {by}, which is "
        f"the schema of the query, got: {why}; make the versions compatible, read their common fields by .schema(...), "
        f"or read around these messages with mode=PERMISSIVE"
    )


def read_error(error: KernelError, *, topic: str) -> PulsarError:
    """Return the error of a read. `topic` is the full name, including the suffix of a partition."""
    error_type, advice = _READ.get(error.kind, (PulsarError, "report this as a bug"))
    where = [f"topic {topic}"]
    if error.ledger >= 0:
        where.append(f"ledger {error.ledger}")
    if error.entry >= 0:
        where.append(f"entry {error.entry}")
    if error.batch_index >= 0:
        where.append(f"batch index {error.batch_index}")
    # The kernel's text begins with the position of the message, which `where` already contains.
    message = _MESSAGE.sub("", error.message) if error.ledger >= 0 else error.message
    return error_type(f"{', '.join(where)}: {_with_remedy(message, advice)}")


def without_read_around(text: str) -> str:
    """Return the text of an error of a read without the advice to set `mode=PERMISSIVE`."""
    return _READ_AROUND.sub("", text)


def write_error(error: KernelError, *, topic: str) -> PulsarError:
    """Return the error of a write.

    The row number in the error counts from 0 within the rows of one call of `encode`. These rows can be a record batch,
    a part of a record batch, or several record batches.
    """
    error_type, advice = _WRITE.get(error.kind, (PulsarError, "report this as a bug"))
    row = f", row {error.row} of the record batch" if error.row >= 0 else ""
    return error_type(f"topic {topic}{row}: {_with_remedy(error.message, advice)}")


def _with_remedy(message: str, advice: str) -> str:
    """Return the message with the advice, unless the message ends with a remedy.

    The text of a refused schema version, and some of the kernel's texts, end with a remedy of their own.
    """
    return message if _REMEDY.search(message) else f"{message}; {advice}"


def version_text(version: bytes) -> str:
    """Return a registry version as users write it: a number if it has eight bytes, otherwise hexadecimal digits."""
    if not version:
        return "none"
    return (
        str(int.from_bytes(version, "big", signed=True)) if len(version) == VERSION_BYTES else version.hex()
    )
