"""Sending rows that name their topic in the column `__topic`. Runs on executors only.

A task settles a topic when the first row for the topic arrives. Settling checks the schema, and creates a missing topic
(`target`).

Settling and opening a topic waits for five answers of a broker in sequence. So threads settle all new topics of a
record batch concurrently, with one client. Later, only the task's thread uses the senders.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.schema.metadata_columns import ROUTING
from pyspark_pulsar.write.sender import DeliveryTerms, TopicSender, close_senders, open_senders
from pyspark_pulsar.write.target import RowTargets, Target, settle_topic


class RowTopics:
    """The senders of one task, by topic. Only one thread may use an instance, and this thread closes the instance."""

    def __init__(
        self,
        client: BrokerClient,
        options: WriteOptions,
        targets: RowTargets,
        terms: DeliveryTerms,
    ) -> None:
        self._client = client
        self._options = options
        self._targets = targets
        self._terms = terms
        self._senders: dict[str, TopicSender] = {}
        self._producers = 0

    def send(self, batch: pa.RecordBatch) -> None:
        """Open the topics that are new in this batch, and send the rows to their topics.

        Raises:
            SendError: A broker did not store a row.
            SchemaError: A row names no topic, or does not fit the schema of its topic.
            PulsarError: Settling or opening a topic failed.

        """
        of_topics = list(rows_by_topic(batch))
        self._open([name for name, _ in of_topics if name not in self._senders])
        for name, rows in of_topics:
            self._senders[name].send(rows, self._share())
        for sender in self._senders.values():
            sender.flush_due(self._share())

    def finish(self) -> None:
        """Send the buffered rows, and wait for all receipts."""
        for sender in self._senders.values():
            sender.flush(self._share())
        for sender in self._senders.values():
            sender.await_receipts()

    @property
    def row_digest(self) -> RowDigest:
        """The digest of the rows that were sent to all topics."""
        return sum((sender.row_digest for sender in self._senders.values()), RowDigest())

    def close(self) -> None:
        close_senders(self._senders.values())

    def _share(self) -> int:
        return max(1, self._options.max_pending_bytes // max(1, self._producers))

    def _open(self, names: list[str]) -> None:
        targets = map_concurrently(self._settled, names)
        opened = []
        for name, target in zip(names, targets, strict=True):
            sender = TopicSender(self._client, self._options, target, self._terms, self._producers + 1)
            self._producers += len(sender.producers)
            self._senders[name] = sender
            opened.append(sender)
        open_senders(opened)
        if self._terms.transaction is not None:
            # Only this thread uses the transaction, so the threads that settle topics do not add partitions. Partitions
            # are added after their topics exist, so a process that aborts the transaction can detect deleted topics.
            self._terms.transaction.add_partitions(
                [partition for target in targets for partition in target.partitions]
            )

    def _settled(self, name: str) -> Target:
        return settle_topic(
            self._client,
            self._options,
            TopicName.parse(name),
            self._targets.columns,
            self._targets.descriptor,
            named_by_rows=True,
        )


def rows_by_topic(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the full name of each topic with its rows. The rows of a topic keep their order.

    Raises:
        SchemaError: A row names no topic.
        TopicNameError: The name of a topic is invalid.

    """
    column = batch.column(ROUTING)
    if column.null_count:
        row = pc.index(pc.is_null(column), pa.scalar(True)).as_py()  # noqa: FBT003 -- a value
        raise SchemaError(
            f"row {row} of the record batch: expected a topic in column {ROUTING}, got null; name a topic in every "
            f"row, or set option 'topic'"
        )
    encoded = column.dictionary_encode()
    # Different texts may name the same topic.
    spelled = [str(TopicName.parse(text)) for text in encoded.dictionary.to_pylist()]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(spelled))}
    codes = pa.array([numbers[name] for name in spelled], pa.int32()).take(encoded.indices)
    # The sort is stable, so the rows of a topic keep their order.
    order = pc.array_sort_indices(codes)
    sorted_codes = codes.take(order)
    start = 0
    for name, code in numbers.items():
        count = pc.sum(pc.equal(sorted_codes, code)).as_py()
        # A slice would keep the whole batch in memory while the rows of one topic are buffered.
        yield name, batch.take(order.slice(start, count))
        start += count
