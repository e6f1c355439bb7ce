"""The kernel knows no topic; here its errors get one, and the class that says who has to act."""

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

_READ: dict[str, tuple[type[PulsarError], str]] = {
    "corrupt": (
        CorruptEntryError,
        "the stored bytes are damaged; start the read behind this entry",
    ),
    "payload": (
        DecodeError,
        "the message does not fit its schema; find its producer, or read around it with mode=PERMISSIVE",
    ),
    "too_large": (
        DecodeError,
        "raise the option maxUncompressedMessageSize, or read around the message with mode=PERMISSIVE",
    ),
    "unsupported": (
        UnsupportedEntryError,
        "this version cannot decode such messages; read around them with mode=PERMISSIVE, or upgrade pyspark-pulsar",
    ),
    "encrypted": (
        DecryptionError,
        "give its private key in pulsar.consumer.cryptoKeyReader.*, or set pulsar.consumer.cryptoFailureAction",
    ),
    "schema": (
        SchemaError,
        "the topic's schema cannot be read this way; make the schema versions compatible",
    ),
}

_WRITE: dict[str, tuple[type[PulsarError], str]] = {
    "payload": (SchemaError, "change or filter this row before writing; nothing of its batch was sent"),
    "schema": (SchemaError, "change the columns or the topic's schema; nothing was sent"),
    "too_large": (
        SendError,
        (
            "make the row smaller, set pulsar.producer.chunkingEnabled=true, or raise maxMessageSize on the brokers; "
            "nothing of its batch was sent"
        ),
    ),
}


def version_error(why: str, *, topic: str, version: bytes, reader: SchemaInfo | None) -> SchemaError:
    """A schema version that messages name cannot be resolved to `reader`, the one that the query reads by."""
    own = reader is not None and reader.version
    by = f"schema version {version_text(own)}" if own else "the schema that its topics share"
    return SchemaError(
        f"topic {topic}: expected schema version {version_text(version)}, which messages were written with, to be "
        f"readable as {by}, which the query reads by, got: {why}; make the versions "
        f"compatible, read what both can give by .schema(...), or read around these messages with mode=PERMISSIVE"
    )


def read_error(error: KernelError, *, topic: str) -> PulsarError:
    """The error of a read. `topic` is the full name with the partition suffix, if there is one."""
    error_type, advice = _READ.get(error.kind, (PulsarError, "please report this"))
    where = [f"topic {topic}"]
    if error.ledger >= 0:
        where.append(f"ledger {error.ledger}")
    if error.entry >= 0:
        where.append(f"entry {error.entry}")
    if error.batch_index >= 0:
        where.append(f"batch index {error.batch_index}")
    # The kernel names the message as well, for those who have only its text.
    message = _MESSAGE.sub("", error.message) if error.ledger >= 0 else error.message
    return error_type(f"{', '.join(where)}: {message}; {advice}")


def write_error(error: KernelError, *, topic: str) -> PulsarError:
    """The error of a write; rows are counted from 0 within what was encoded at once: a record batch, those of its rows
    that name the topic, or several that were held back."""
    error_type, advice = _WRITE.get(error.kind, (PulsarError, "please report this"))
    row = f", row {error.row} of the record batch" if error.row >= 0 else ""
    return error_type(f"topic {topic}{row}: {error.message}; {advice}")


def version_text(version: bytes) -> str:
    """A registry version as people know it: a number where it is eight bytes, else hexadecimal."""
    if not version:
        return "none"
    return (
        str(int.from_bytes(version, "big", signed=True)) if len(version) == VERSION_BYTES else version.hex()
    )
