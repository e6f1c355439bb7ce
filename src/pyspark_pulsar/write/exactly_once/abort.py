"""Aborting transactions whose tasks may still send rows, because Spark has not killed these tasks yet.

Each topic partition has a transaction buffer (Pulsar 4.0.8, `TopicTransactionBuffer`). The buffer records the abort of
a transaction only in its state `Ready`. The first transactional message of the partition makes the buffer `Ready`. The
buffer then stays `Ready`.

    a message of an aborted transaction arrives at     the broker
    a buffer that was `Ready` at the abort             stores the message; no reader ever sees the message
    a buffer that was not `Ready`, or waits for its    treats the transaction as open
      first snapshot

If the broker treats the transaction as open, no process ends the transaction. Readers of the partition wait at the
message until another transaction of the same coordinator ends in the partition. So before an abort, this module sends
an empty message to each partition that the aborted transactions may contain. The empty messages are in a separate
transaction.
When the receipt of an empty message arrives, the buffer is `Ready`. When all receipts have arrived, the separate
transaction is aborted. If a receipt is missing, the separate transaction is not aborted, because a late empty message
would also block readers. The separate transaction then times out.

A task writes its partitions to `-begun` before it adds the partitions to its transaction. The partitions exist at that
time. So a partition in `-begun` that does not exist was deleted, and is not created again. A task may add more
partitions while buffers become `Ready`. So `-begun` is read until it contains no new partitions. One round trip passes
between the last reading and the abort. A partition that a task adds during this round trip gets no empty message.

If a partition's buffer does not become `Ready`, the transactions are aborted nevertheless, because open transactions
would certainly block the readers of the partition.

Prepared transactions are aborted without empty messages, because the receipts of all their messages have arrived. A
task stops sending when its clock shows that its transaction has timed out (`OpenTransaction.require_time`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.connection.connection import Connection
from pyspark_pulsar.client.broker.producer import PROBE_ID, Producer
from pyspark_pulsar.client.broker.requests import in_windows
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.codec.encode import Producing
from pyspark_pulsar.codec.public_keys import DataKey
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.runtime import time
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopicWriter
from pyspark_pulsar.write.exactly_once.sink import Sink
from pyspark_pulsar.write.exactly_once.state import BegunTransaction

_log = logging.getLogger(__name__)

_FIRST_PRODUCER_ID: Final = PROBE_ID + 100
"""The first producer id after the ids of the journal's producers."""
_READINGS: Final = 10
_PARTITIONS_AT_A_TIME: Final = 500
_MOST_SECONDS: Final = 15.0
_TIMEOUT_MS: Final = 20_000

IN_THE_WAY_SECONDS: Final = _TIMEOUT_MS / 1000
"""Maximum seconds for which empty messages block readers, if the process that has sent the messages dies."""


def abort_running(
    sink: Sink, read_begun: Callable[[], Sequence[BegunTransaction]], require_alone: Callable[[], None]
) -> None:
    """Abort the transactions that `read_begun` returns, so that late messages of their tasks do not block readers.

    Args:
        sink: The journal and the coordinators.
        read_begun: A function that reads the transactions, and is called until the result has no new partition.
        require_alone: A function that is called immediately before the abort, if there are transactions to abort.

    Raises:
        PulsarError: `read_begun`, `require_alone` or a request to a coordinator failed.

    """
    for _ in range(_READINGS):
        begun = read_begun()
        partitions = _partitions_of_open(sink, begun) - sink.ready
        if not partitions:
            break
        _make_ready(sink, sorted(partitions))
        # Include failed partitions, so that a fenced writer that tries again does not write to these partitions again.
        sink.ready.update(partitions)
    if begun:
        require_alone()
        sink.coordinators.abort_all(sorted({attempt.transaction for attempt in begun}))


def _partitions_of_open(sink: Sink, begun: Sequence[BegunTransaction]) -> set[str]:
    """Return the partitions of the open transactions, and the marker partition.

    If the coordinators cannot be reached, treat all transactions as open.
    """
    names = sorted({attempt.transaction for attempt in begun})
    try:
        open_ones = set(sink.coordinators.still_open(names, sink.journal.marker_partition))
    except PulsarError:
        open_ones = set(names)
    if not open_ones:
        return set()
    of_rows = chain.from_iterable(attempt.partitions for attempt in begun if attempt.transaction in open_ones)
    return {sink.journal.marker_partition, *of_rows}


def _make_ready(sink: Sink, partitions: Sequence[str]) -> None:
    """Make the transaction buffers of the existing partitions `Ready`.

    Errors are only logged, because the transactions must be aborted in any case.
    """
    faults: list[Exception] = []
    for window in in_windows(partitions, _PARTITIONS_AT_A_TIME):
        try:
            with sink.client.until(time.monotonic() + min(sink.client.request_seconds, _MOST_SECONDS)):
                transaction, messages = send_nothing(sink.client, sink.coordinators, window)
            faults += [message.fault for message in messages if message.fault is not None]
            if transaction is not None and not any(message.is_unconfirmed for message in messages):
                sink.coordinators.abort_all([transaction])
        except Exception as fault:  # noqa: BLE001 -- any error
            faults.append(fault)
    if faults:
        _log.warning(
            "could not write to some topic partitions before aborting their transactions. A late row of an aborted "
            "transaction may block the rows after it. If readers of a topic receive nothing new, run pyspark-pulsar "
            "transactions unblock TOPIC: %s, journal %s",
            faults[0],
            sink.journal.prefix,
        )


def send_nothing(
    client: BrokerClient,
    coordinators: Coordinators,
    partitions: Sequence[str],
    coordinator: int | None = None,
) -> tuple[TransactionId | None, list[EmptyMessage]]:
    """Send an empty message to each existing partition, in one open transaction.

    Args:
        client: The client that opens the producers.
        coordinators: The transaction coordinators.
        partitions: Full names of topic partitions.
        coordinator: The number of the transaction's coordinator; None if any coordinator may begin the transaction.

    Returns:
        A tuple: the transaction, or None if no partition exists; and the messages. If sending a message failed, its
        `fault` is set.

    """
    schemas = _schemas(client, partitions)
    if not schemas:
        return None, []
    transaction = coordinators.begin(_TIMEOUT_MS, coordinator)
    coordinators.add_partitions(transaction, list(schemas))
    messages = [
        EmptyMessage(client, transaction, _FIRST_PRODUCER_ID + number, name, info)
        for number, (name, info) in enumerate(schemas.items())
    ]
    # The owners of all partitions are looked up together, so that an unreachable broker delays this function only once.
    owners = client.owner_connections(schemas)
    map_concurrently(lambda message: message.send(owners[message.topic]), messages)
    return transaction, messages


def _schemas(client: BrokerClient, partitions: Sequence[str]) -> dict[str, SchemaInfo | None]:
    """Return the existing partitions with their topics' schemas.

    A producer needs the schema, because a namespace may refuse producers without a schema.
    """
    names = {name: TopicName.parse(name) for name in partitions}
    counts = client.present_partitions({name.without_partition() for name in names.values()})
    there = {text: name for text, name in names.items() if _exists(name, counts[name.without_partition()])}
    schemas = client.schemas({name.without_partition() for name in there.values()})
    return {text: schemas[name.without_partition()] for text, name in there.items()}


def _exists(name: TopicName, count: int | None) -> bool:
    """Return whether the partition exists in a topic with this number of partitions.

    A topic that was deleted and created again may have another number of partitions.
    """
    if count is None:
        return False
    return name.partition < count if name.partition >= 0 else count == 0


class EmptyMessage:
    """A message without content for one topic partition. The message is sent at most once."""

    def __init__(
        self,
        client: BrokerClient,
        transaction: TransactionId,
        producer_id: int,
        topic: str,
        info: SchemaInfo | None,
    ) -> None:
        self.topic = topic
        self.fault: Exception | None = None
        self.is_unconfirmed = False
        """True if the message may have been sent, and its receipt has not arrived."""
        self._transaction = transaction
        # A namespace may require encryption. A broker accepts an encrypted message even if no one stores its key.
        self._producing = Producing(data_key=DataKey(os.urandom(32), (("nobody", b"\0"),)))
        self._producer = Producer(
            client,
            topic,
            producer_id,
            info,
            min(client.request_seconds, _MOST_SECONDS),
            encrypted=True,
            transactional=True,
            sends_again=False,
        )

    def send(self, owner: Connection | PulsarError) -> None:
        """Send the message to `owner`, the connection to the topic's broker. Return after the receipt or a failure.

        If sending fails, or if `owner` is an error, set `fault`.
        """
        if isinstance(owner, PulsarError):
            self.fault = owner
            return
        try:
            self._producer.open()
            writer = JournalTopicWriter(self._producer, self._transaction, self._producing)
            self.is_unconfirmed = True
            writer.append({})
            self.is_unconfirmed = False
        except PulsarError as fault:
            self.fault = fault
        finally:
            self._producer.close()
