"""The name of an exactly-once write's journal. It is the same after a restart, and differs between queries and targets.

A name is the common part of the names of three topics; see `journal`.
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
    """The parts of a journal's name that the driver knows; only tasks know the query's id. Picklable."""

    target: str
    """The topic of the rows, or the column that names their topics."""
    fixed: str | None
    """The name of a job's journal, or option `transactionJournal`; None if the query's id determines it."""
    beside: str = ""

    def name_for(self, owner: str) -> str:
        """Return the name for the query or job with this id."""
        return self.fixed or f"{self.beside}-{owner}-{_digest(self.target)}"


def journal_of_stream(options: WriteOptions, checkpoint: str | None) -> JournalName:
    """Return the name for an exactly-once streaming query.

    Raises:
        OptionError: Neither a checkpoint nor `transactionJournal` determines the name.

    """
    if options.transaction_journal is not None:
        return JournalName(_target(options), _checked(options))
    if checkpoint is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option checkpointLocation of this writeStream, or "
            "transactionJournal, to find what was decided before a restart, got neither; set one of them"
        )
    return JournalName(_target(options), None, _beside(_topic(options)))


def journal_of_batch(options: WriteOptions) -> JournalName:
    """Return the name for all exactly-once jobs that write to the topic.

    Raises:
        OptionError: Rows name their topics, and the options name no journal.

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
            f"option 'transactionJournal': expected a persistent topic's name, got {name}; make it persistent"
        )
    return str(name)


def _topic(options: WriteOptions) -> TopicName:
    if options.topic is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option transactionJournal where column __topic names the "
            "topics, got neither it nor the option topic, which would determine its namespace. Set transactionJournal "
            "to the name of a topic that does not exist, in a namespace where this role may produce and consume"
        )
    topic = TopicName.parse(options.topic)
    check_domain(options, topic)
    return topic


def _beside(topic: TopicName) -> str:
    return f"persistent://{topic.namespace}/{_PREFIX}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
