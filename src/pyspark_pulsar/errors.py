"""One tree for everything that this package raises, split by who has to act.

Every message says what is wrong, what was expected, where (topic, ledger, entry, version), and what to do;
what is wrong comes first. Errors are raised as early as possible, on the driver where that is possible. All of them
survive pickling, since Spark carries them from executors to the driver.
"""

from __future__ import annotations

import re
from typing import Final

_LINES: Final = re.compile(r"(\n)")
_ITEMS: Final = re.compile(r"(\n(?= +- ))")


def printable(text: str) -> str:
    """`text` with escapes, as Python writes them, in place of all that a terminal would not print as it stands: control
    characters, line ends, what turns the direction of writing. Names of topics, producers and schemas are chosen by
    others. Printable text stays as it is, so doing it twice changes nothing."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _printable_lines(text: str, ends: re.Pattern[str]) -> str:
    """`printable` but for the line ends that `ends` finds."""
    parts = enumerate(ends.split(text))
    return "".join(part if index % 2 else printable(part) for index, part in parts)


class PulsarError(Exception):
    """Root of the tree. Catch this to catch all that pyspark-pulsar raises on purpose.

    As text it is `printable`, but for the line ends before the items of a list."""

    def __str__(self) -> str:
        return _printable_lines(super().__str__(), _ITEMS)


class OptionError(PulsarError, ValueError):
    """An option is unknown, missing, malformed or contradicts another. The user changes the call."""


class TopicNameError(OptionError):
    """A topic, namespace or tenant name does not follow Pulsar's grammar."""


class TopicNotFoundError(PulsarError):
    """A topic does not exist. A read never creates one."""


class TopicExistsError(PulsarError):
    """A topic that is to be created is there already. It is left as it is."""


class NamespaceNotFoundError(PulsarError):
    """A namespace, or the tenant that it is in, does not exist."""


class NamespaceExistsError(PulsarError):
    """A namespace that is to be created is there already. It is left as it is."""


class NamespaceNotEmptyError(PulsarError):
    """A namespace that is to be deleted has topics. Says how many."""


class CatalogUnsupported(PulsarError):
    """A statement asks for what the catalog of Pulsar cannot or will not do. Says why, and what to do instead."""


class SchemaError(PulsarError):
    """A schema cannot be used, or data and schema do not fit. The user changes the schema or the query."""


class DecodeError(PulsarError):
    """A whole, undamaged message does not fit the schema it claims, holds what no column can, or cannot be unpacked."""


class CorruptEntryError(PulsarError):
    """An entry's bytes are damaged: a checksum or a length does not fit, or what no checksum proves is not readable."""


class UnsupportedEntryError(PulsarError):
    """A valid entry of a kind that this version cannot decode; says which kind."""


class DecryptionError(PulsarError):
    """An encrypted message cannot be decrypted with the private keys given. Names the keys it is for."""


class MessagesHidden(PulsarError):
    """A topic stores entries of which its broker shows no message, for longer than an operation may take. They may be
    messages, so the topic is not taken for empty."""


class DataLossError(PulsarError):
    """Rows that the query asks for are gone from the topic."""


class LedgerUnavailable(PulsarError):
    """A ledger cannot be read where the query wants it from: it is gone, lacks entries, or no replica answers."""


class TieredStorageUnavailable(LedgerUnavailable):
    """Tiered storage cannot be reached, or refuses the credentials."""


class DamagedCopy(LedgerUnavailable):
    """A copy in tiered storage is there, but bytes of it are not those that were written, or entries are missing."""


class ColumnsUnavailable(PulsarError):
    """A data file of a topic's table, or the table itself, cannot be read. Names the file and the range."""


class TierMismatch(PulsarError):
    """A table is not the tier of this topic: it is another topic's, an earlier one's of the same name, or no tier at
    all; or the topic's own table is not where it is looked for, or lost rows that it had."""


class WriterKilled(PulsarError):
    """A process that wrote data files of a topic's table was killed. Nothing of its round is committed."""


class TieringFailed(PulsarError):
    """Tiering a topic, or the upkeep of its table, failed for a reason that has no error class of its own. Names it."""


class ConnectionFailed(PulsarError):
    """A broker, bookie or REST endpoint cannot be reached, or went away, and retries are used up."""


class DeadlineExceeded(ConnectionFailed):
    """An answer did not come in time. Names what was waited for and for how long."""


class TlsFailed(PulsarError):
    """TLS was not agreed upon: a certificate is not believed or is missing, or the other side speaks no TLS."""


class PermissionDenied(PulsarError):
    """The server refused this role, or did not believe who it is. Names the missing right where the server says it."""


class SubscriptionBusy(PulsarError):
    """Another consumer uses the subscription that option `subscriptionName` or `startingSubscription` names."""


class ProtocolError(PulsarError):
    """The server answered something that the protocol does not allow at this point."""


class SendError(PulsarError):
    """A message was not stored, or its receipt did not come. Nothing after it counts as written."""


class CommitError(PulsarError):
    """An epoch could not be committed; it is not counted as written."""


class TransactionEnded(CommitError):
    """A transaction is not open any more: it was committed, aborted, or timed out."""


class CommitUnfinished(CommitError):
    """An epoch or job was decided, or may have been, and is not known to be committed: its rows are visible, or may
    become so. A job that fails with it must not be run again; a query finishes the epoch when it starts again."""


class RepeatedEpochDiffers(CommitError):
    """An epoch that was written before runs again with other rows, of which nothing is written: the checkpoint is older
    than the journal, or the query is not deterministic."""


class JournalTaken(CommitError):
    """The journal of an exactly-once write belongs to another query or job. Nothing is written, nor changed of
    theirs."""


class WriterFenced(CommitError):
    """Another writer has taken over what this one writes, or its job is over; nothing of this one counts as written."""


class CheckpointError(PulsarError):
    """A checkpoint that lives in Pulsar cannot be used as asked. Names the checkpoint."""


class CheckpointPathNotFound(CheckpointError):
    """A file or folder of a checkpoint, or the checkpoint itself, does not exist."""


class CheckpointPathExists(CheckpointError):
    """A file or folder of a checkpoint is there already, and may not be replaced. It is left as it is."""


class CheckpointIsDirectory(CheckpointError):
    """A path of a checkpoint is a folder where a file is expected."""


class CheckpointNotDirectory(CheckpointError):
    """A path of a checkpoint, or what is above it, is a file where a folder is expected."""


class CheckpointNotEmpty(CheckpointError):
    """A folder of a checkpoint that is to be deleted alone still holds files."""


class CheckpointTakenOver(CheckpointError):
    """Another application has taken the checkpoint over: nothing that this one writes counts any more. Names it."""


class CheckpointLost(CheckpointError):
    """Something of a checkpoint is gone or damaged: records of its index, or chunks of a file. Names it and the likely
    cause."""


class CheckpointUnsafe(CheckpointError):
    """Policies of the topics of a checkpoint would let the broker remove what it still needs. Names the policy."""


class InterpreterError(PulsarError):
    """Python workers run an interpreter that lacks this package. Says how to set PYSPARK_PYTHON."""


class SessionStarted(PulsarError):
    """A Spark session, or its JVM, runs already and cannot be given the catalog any more."""


class PrerequisiteMissing(PulsarError):
    """A program or package that something needs is not installed. Names it and how to get it."""


class StandaloneFailed(PulsarError):
    """The local Pulsar server did not start or stop; carries the end of its log."""

    def __str__(self) -> str:
        return _printable_lines(Exception.__str__(self), _LINES)
