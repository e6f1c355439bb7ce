"""Abort of transactions whose tasks may still send. Spark has killed these tasks, or will kill them a moment later.

Each topic partition has a transaction buffer (Pulsar 4.0.8, `TopicTransactionBuffer`). The buffer notes the abort of a
transaction only while it is Ready. It becomes Ready with the first transactional message of the partition, and stays
so.

    a message of an aborted transaction arrives at     the broker
    a buffer that was Ready at the abort               stores the message; no reader ever sees it
    a buffer that was not, or that waits for its       treats the transaction as open
      first snapshot

In the second case, no process ends the transaction. No reader of the partition passes it, until another transaction of
the same coordinator ends there. So before an abort, this module sends a message to each partition that these
transactions may have. The message is in a separate transaction, which is aborted, too. When its receipt arrives, the
buffer is Ready. That separate transaction is not aborted while the receipt of a sent message is missing, because its
abort would have the same effect. It times out instead.

Partitions are written to `-begun` before a transaction adds them, and exist at that time. So a partition that does not
exist was deleted, and is not created again. A task may add more partitions while buffers become Ready. So `-begun` is
read until it contains no new ones. Partitions that a task adds between the last reading and the abort, a round trip
later, may be missed.

If a partition's buffer cannot be made Ready, the transactions are aborted nevertheless. Open transactions would
certainly stop its readers.

Prepared transactions have all their receipts, so they need none of this. A task sends nothing more when its own clock
shows that its transaction has timed out (`OpenTransaction.require_time`).
"""

from __future__ import annotations

import logging
import os
import time
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
"""Maximum time for which empty messages stop readers, if the process that has sent them dies."""


def abort_running(
    sink: Sink, read_begun: Callable[[], Sequence[BegunTransaction]], require_alone: Callable[[], None]
) -> None:
    """Abort the transactions from `read_begun`, so that no reader waits for messages that tasks still send.

    Args:
        sink: The journal and the coordinators.
        read_begun: Reads the transactions. It is called until it returns no new partition.
        require_alone: Called immediately before the abort, if there is anything to abort.

    Raises:
        PulsarError: As `read_begun`, `require_alone` and the coordinators raise it.

    """
    for _ in range(_READINGS):
        begun = read_begun()
        partitions = _partitions_of_open(sink, begun) - sink.ready
        if not partitions:
            break
        _make_ready(sink, sorted(partitions))
        # Failed partitions are included. So a writer that is fenced and tries again gets farther than before.
        sink.ready.update(partitions)
    if begun:
        require_alone()
        sink.coordinators.abort_all(sorted({attempt.transaction for attempt in begun}))


def _partitions_of_open(sink: Sink, begun: Sequence[BegunTransaction]) -> set[str]:
    """Return the partitions of open transactions, with the marker partition. If unsure, assume that all are open."""
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
    """Make the transaction buffers of the existing partitions Ready.

    It raises no error, because the transactions must be aborted in any case.
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
            "writing to some topic partitions failed before their transactions are aborted, so a late row may hide "
            "the rows after it; if readers of a topic receive nothing new, run pyspark-pulsar transactions unblock "
            "TOPIC: %s, journal %s",
            faults[0],
            sink.journal.prefix,
        )


def send_nothing(
    client: BrokerClient,
    coordinators: Coordinators,
    partitions: Sequence[str],
    coordinator: int | None = None,
) -> tuple[TransactionId | None, list[EmptyMessage]]:
    """Send an empty message to each of the partitions that exist, in one open transaction.

    Args:
        client: Opens the producers.
        coordinators: Begin the transaction.
        partitions: Full names of topic partitions.
        coordinator: The number of the transaction's coordinator; None means any.

    Returns:
        The transaction, or None if no partition exists; and the messages with their faults.

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
    # All owners are looked up together, so an unreachable broker delays this once, not once per topic.
    owners = client.owner_connections(schemas)
    map_concurrently(lambda message: message.send(owners[message.topic]), messages)
    return transaction, messages


def _schemas(client: BrokerClient, partitions: Sequence[str]) -> dict[str, SchemaInfo | None]:
    """Return the existing partitions with their topics' schemas. Namespaces may refuse producers without a schema."""
    names = {name: TopicName.parse(name) for name in partitions}
    counts = client.present_partitions({name.without_partition() for name in names.values()})
    there = {text: name for text, name in names.items() if _exists(name, counts[name.without_partition()])}
    schemas = client.schemas({name.without_partition() for name in there.values()})
    return {text: schemas[name.without_partition()] for text, name in there.items()}


def _exists(name: TopicName, count: int | None) -> bool:
    """Return whether the partition exists, even if the topic was created again."""
    if count is None:
        return False
    return name.partition < count if name.partition >= 0 else count == 0


class EmptyMessage:
    """A message without content to one topic partition, sent once."""

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
        """True if it was sent, or may have been sent, and has no receipt."""
        self._transaction = transaction
        # Namespaces may require encryption. They accept a message that is encrypted for no recipient, with a key that
        # is not stored anywhere.
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
        """Send the message to the topic's `owner`, and return when it has its receipt or when `fault` is set."""
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
