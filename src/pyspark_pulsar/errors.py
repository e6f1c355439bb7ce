"""The errors that this package raises, in one class hierarchy by who can act on them.

Every message starts with the failure, then names what was expected, the place (topic, ledger, entry, version), and what
to do. Errors are raised as early as possible, on the driver if possible. All errors survive pickling, because Spark
transports them from executors to the driver.
"""

from __future__ import annotations

import re
from typing import Final

_LINES: Final = re.compile(r"(\n)")
_ITEMS: Final = re.compile(r"(\n(?= +- ))")


def printable(text: str) -> str:
    """Replace all characters that a terminal would not print by escapes, as Python writes them.

    Such characters are control characters, line breaks, and characters that change the text direction. Names of topics,
    producers and schemas are untrusted input. Printable text stays the same, so a second call changes nothing.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _printable_lines(text: str, ends: re.Pattern[str]) -> str:
    """Apply `printable` to the text between matches of `ends`."""
    parts = enumerate(ends.split(text))
    return "".join(part if index % 2 else printable(part) for index, part in parts)


class PulsarError(Exception):
    """The base class of all errors that pyspark-pulsar raises on purpose. Catch this class to catch all of them.

    The text of an error is `printable`, except for line breaks before the items of a list.
    """

    def __str__(self) -> str:
        return _printable_lines(super().__str__(), _ITEMS)


class OptionError(PulsarError, ValueError):
    """An option is unknown, missing or malformed, or conflicts with another option. Change the call."""


class TopicNameError(OptionError):
    """A topic, namespace or tenant name does not follow Pulsar's grammar."""


class TopicNotFoundError(PulsarError):
    """A topic does not exist. Reads never create topics."""


class TopicExistsError(PulsarError):
    """A topic to be created exists already. The existing topic is unchanged."""


class NamespaceNotFoundError(PulsarError):
    """A namespace, or its tenant, does not exist."""


class NamespaceExistsError(PulsarError):
    """A namespace to be created exists already. The existing namespace is unchanged."""


class NamespaceNotEmptyError(PulsarError):
    """A namespace to be deleted contains topics. The message contains their number, or the broker's reason."""


class CatalogUnsupported(PulsarError):
    """The catalog of Pulsar cannot run a statement. The message contains the reason and an alternative."""


class SchemaError(PulsarError):
    """A schema cannot be used, or does not match the data. Change the schema or the query."""


class DecodeError(PulsarError):
    """An undamaged message does not match its schema, has a value for which no column exists, or cannot be unpacked."""


class CorruptEntryError(PulsarError):
    """The bytes of an entry are damaged: a checksum or a length does not match, or unprotected bytes are unreadable."""


class UnsupportedEntryError(PulsarError):
    """A valid entry is of a kind that this version cannot decode. The message names the kind."""


class DecryptionError(PulsarError):
    """The private keys in the options cannot decrypt a message. The message names the keys that can decrypt it."""


class MessagesHidden(PulsarError):
    """A topic stores entries, but its broker shows no message within the operation's timeout.

    The entries may be messages, so the topic does not count as empty.
    """


class DataLossError(PulsarError):
    """The topic no longer has rows that the query reads."""


class LedgerUnavailable(PulsarError):
    """A ledger cannot be read from the requested location: it is gone, lacks entries, or no replica answers."""


class TieredStorageUnavailable(LedgerUnavailable):
    """Tiered storage is unreachable, or refuses the credentials."""


class DamagedCopy(LedgerUnavailable):
    """A copy in tiered storage exists, but its bytes differ from the written ones, or entries are missing."""


class ColumnsUnavailable(PulsarError):
    """A data file of a topic's table, or the table itself, cannot be read. The message names the file and the range."""


class TierMismatch(PulsarError):
    """A table is not the tier of this topic, or the topic's own table is not at its location or lost rows.

    The table may belong to another topic or an earlier incarnation, or be no tier.
    """


class WriterKilled(PulsarError):
    """A process that wrote data files of a topic's table was killed. No part of its round is committed."""


class TieringFailed(PulsarError):
    """Tiering of a topic, or the upkeep of its table, failed. The message names the reason."""


class ConnectionFailed(PulsarError):
    """A broker, bookie or REST endpoint is unreachable or closed the connection, and all retries failed."""


class DeadlineExceeded(ConnectionFailed):
    """An answer did not arrive in time. The message names the request and the timeout."""


class TlsFailed(PulsarError):
    """The TLS handshake failed: a certificate is missing or not trusted, or the other side does not use TLS."""


class PermissionDenied(PulsarError):
    """The server refused the credentials or the role. The message names the missing permission, if it is known."""


class SubscriptionBusy(PulsarError):
    """Another consumer uses the subscription in option `subscriptionName` or `startingSubscription`."""


class ProtocolError(PulsarError):
    """A server's answer violates the protocol."""


class SendError(PulsarError):
    """A message was not stored, or its receipt did not arrive. No later message counts as written."""


class CommitError(PulsarError):
    """An epoch could not be committed, and does not count as written."""


class TransactionEnded(CommitError):
    """A transaction is no longer open: it was committed or aborted, or it timed out."""


class CommitUnfinished(CommitError):
    """An epoch or job may have been decided, but is not known to be committed. Its rows are or may become visible.

    Do not repeat a job after this error. A query completes the epoch when it restarts.
    """


class RepeatedEpochDiffers(CommitError):
    """An epoch that was written before runs again with different rows, and none of them is written.

    The checkpoint is older than the journal, or the query is not deterministic.
    """


class JournalTaken(CommitError):
    """The journal of an exactly-once write belongs to another query or job.

    Nothing is written, and the state of the journal is unchanged.
    """


class WriterFenced(CommitError):
    """Another writer has taken over from this writer, or the job has ended. No row of this writer counts as written."""


class CheckpointError(PulsarError):
    """A checkpoint in Pulsar cannot be used as requested. The message names the checkpoint."""


class CheckpointPathNotFound(CheckpointError):
    """A file or folder of a checkpoint, or the checkpoint itself, does not exist."""


class CheckpointPathExists(CheckpointError):
    """A file or folder of a checkpoint exists already, and must not be replaced. The existing one is unchanged."""


class CheckpointIsDirectory(CheckpointError):
    """A path of a checkpoint is a folder, but a file is expected."""


class CheckpointNotDirectory(CheckpointError):
    """A path of a checkpoint, or its parent, is a file, but a folder is expected."""


class CheckpointNotEmpty(CheckpointError):
    """A folder of a checkpoint is to be deleted, but still contains files."""


class CheckpointTakenOver(CheckpointError):
    """Another application has taken over a checkpoint, so writes of this one no longer count. The message names it."""


class CheckpointLost(CheckpointError):
    """Index records or chunks of a file in a checkpoint are missing or damaged. The message names the likely cause."""


class CheckpointUnsafe(CheckpointError):
    """Policies of a checkpoint's topics would let the broker remove required data. The message names the policy."""


class InterpreterError(PulsarError):
    """Python workers run an interpreter without this package. The message explains how to set PYSPARK_PYTHON."""


class SessionStarted(PulsarError):
    """A Spark session or its JVM is running already, so the catalog cannot be added."""


class PrerequisiteMissing(PulsarError):
    """A required program or package is not installed. The message names it and how to install it."""


class StandaloneFailed(PulsarError):
    """The local Pulsar server did not start or stop. The message contains the end of its log."""

    def __str__(self) -> str:
        return _printable_lines(Exception.__str__(self), _LINES)
