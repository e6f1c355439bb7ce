"""What an exactly-once write calls its journal: the same after a restart, another name for another query or target.

Names are those of three topics without their last parts; see `journal`.
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
    """The name, as far as Spark tells the driver when it plans: only tasks know the query's id. Picklable."""

    target: str
    """The topic that rows go to, or the column that names topics."""
    fixed: str | None
    """Of a job, or by option `transactionJournal`; None: made of the query's id."""
    beside: str = ""

    def of(self, owner: str) -> str:
        """The journal of that query or job."""
        return self.fixed or f"{self.beside}-{owner}-{_digest(self.target)}"


def journal_of_stream(options: WriteOptions, checkpoint: str | None) -> JournalName:
    """Of an exactly-once streaming query. Raises `OptionError` where nothing tells its name."""
    if options.transaction_journal is not None:
        return JournalName(_target(options), _checked(options))
    if checkpoint is None:
        raise OptionError(
            "deliveryGuarantee=exactly-once: expected the option checkpointLocation of this writeStream, or "
            "transactionJournal, to find what was decided before a restart; got neither"
        )
    return JournalName(_target(options), None, _beside(_topic(options)))


def journal_of_batch(options: WriteOptions) -> JournalName:
    """Of all exactly-once jobs that write to the topic. Raises `OptionError` where rows name their topics and no
    journal is given."""
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
            "topics, got neither that nor the option topic, beside which the journal would lie; give the name of a "
            "topic that does not exist, in a namespace where this role may produce and consume"
        )
    topic = TopicName.parse(options.topic)
    check_domain(options, topic)
    return topic


def _beside(topic: TopicName) -> str:
    return f"persistent://{topic.namespace}/{_PREFIX}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
