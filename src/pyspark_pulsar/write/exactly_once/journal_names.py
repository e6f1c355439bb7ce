"""The name of an exactly-once journal. By default, each pair of a query and a target has its own journal.

A restart of the query does not change the name. A journal consists of three topics (`journal`). The name of the journal
is the common prefix of the topics' names.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.metadata_columns import ROUTING
from pyspark_pulsar.write.target import check_domain

_PREFIX: Final = "__pyspark-pulsar"


@dataclass(frozen=True, slots=True)
class JournalName:
    """The parts of a journal's name that the driver knows. Instances are picklable.

    Only tasks know the missing part, which is the query's id.
    """

    target: str
    """The topic of the rows, or the column that names the topic of each row."""
    fixed: str | None
    """The full name, for a job or with the option `transactionJournal`; None if the name depends on the query's id."""
    beside: str = ""

    def name_for(self, owner: str) -> str:
        """Return the journal's name for the query or job with the id `owner`."""
        return self.fixed or f"{self.beside}-{owner}-{_digest(self.target)}"


def journal_of_stream(options: WriteOptions, checkpoint: str | None) -> JournalName:
    """Return the journal's name for an exactly-once streaming query.

    Raises:
        OptionError: There is neither a checkpoint nor the option `transactionJournal`.

    """
    if options.transaction_journal is not None:
        return JournalName(_target(options), _checked(options))
    if checkpoint is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option checkpointLocation or transactionJournal of the "
            "writeStream, got neither; set one of them, so that the query finds its journal after a restart"
        )
    return JournalName(_target(options), None, _beside(_topic(options)))


def journal_of_batch(options: WriteOptions) -> JournalName:
    """Return the journal's name for exactly-once jobs. All jobs that write to a topic share one journal.

    Raises:
        OptionError: Rows name their topics, and the option `transactionJournal` is missing.

    """
    if options.transaction_journal is not None:
        return JournalName(_target(options), _checked(options))
    topic = _topic(options)
    return JournalName(_target(options), f"{_beside(topic)}-batch-{_digest(str(topic))}")


def _target(options: WriteOptions) -> str:
    return ROUTING if options.topic is None else str(TopicName.parse(options.topic))


def _checked(options: WriteOptions) -> str:
    name = TopicName.parse(str(options.transaction_journal))
    if not name.is_persistent:
        raise OptionError(
            f"option 'transactionJournal': expected the name of a persistent topic, got {name}; begin the name with "
            f"persistent://"
        )
    return str(name)


def _topic(options: WriteOptions) -> TopicName:
    if options.topic is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option transactionJournal, because column __topic names the "
            "topics, got none; set transactionJournal to the name of a topic that does not exist, in a namespace "
            "where this role is allowed to produce and consume"
        )
    topic = TopicName.parse(options.topic)
    check_domain(options, topic)
    return topic


def _beside(topic: TopicName) -> str:
    return f"persistent://{topic.namespace}/{_PREFIX}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
