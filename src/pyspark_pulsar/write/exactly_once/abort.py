"""Aborting transactions whose tasks may still send: Spark has killed them, or does so a moment later.

What brokers do (4.0.8, `TopicTransactionBuffer`): each topic partition has a transaction buffer. It notes that a
transaction is aborted only when it is Ready, which it becomes when the partition gets its first transactional message
ever, and stays.

| a message of an aborted transaction comes | the broker |
|---|---|
| to a buffer that was Ready when the transaction was aborted | stores it; nobody ever sees it |
| to one that was not, or that waits for its first snapshot | takes the transaction for an open one |

In the second case nobody ends it: no reader of the partition gets past it, until another transaction of the same
coordinator ends there. So before anything is aborted here, a message is sent to each partition that these transactions
may have, in a transaction of its own, which is aborted too. When its receipt is there, the buffer is Ready. That
transaction is not aborted while the receipt of a message that was sent is missing, as the same would come of it: then
it times out.

Partitions are written down in `-begun` before a transaction takes them in, and are there then; so one that is not there
was deleted, and is not made anew. A task may take in more while buffers are made ready: `-begun` is read until it names
none that is new. What it takes in between the last reading and the abort, a round trip, may be missed.

Where a partition cannot be made ready the transactions are aborted all the same: open, they would hold its readers up
for certain.

Transactions that are prepared have all their receipts, so they need none of this. A task sends nothing new any more
when its transaction times out (`OpenTransaction.require_time`), which nobody is asked about.
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
"""Behind those of the journal."""
_READINGS: Final = 10
_PARTITIONS_AT_A_TIME: Final = 500
_MOST_SECONDS: Final = 15.0
_TIMEOUT_MS: Final = 20_000

IN_THE_WAY_SECONDS: Final = _TIMEOUT_MS / 1000
"""For how long empty messages are in the way of readers when the process that has sent them dies."""


def abort_running(
    sink: Sink, read_begun: Callable[[], Sequence[BegunTransaction]], require_alone: Callable[[], None]
) -> None:
    """Abort what `read_begun` gives, so that no reader waits for what the tasks still send. It is asked until it names
    no new partition; then, if there is anything to abort, `require_alone` comes right before that. Raises what these
    two raise, and asking the coordinators."""
    for _ in range(_READINGS):
        begun = read_begun()
        partitions = _of_open(sink, begun) - sink.ready
        if not partitions:
            break
        _make_ready(sink, sorted(partitions))
        # Also of those that cannot be: whoever is thrown out meanwhile and comes again must get further than before.
        sink.ready.update(partitions)
    if begun:
        require_alone()
        sink.coordinators.abort_all(sorted({attempt.transaction for attempt in begun}))


def _of_open(sink: Sink, begun: Sequence[BegunTransaction]) -> set[str]:
    """The partitions of transactions that are open, that of markers among them. Of all where nobody can say."""
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
    """Make the transaction buffers of those partitions Ready that are there. Raises nothing: what is aborted next must
    be aborted."""
    faults: list[Exception] = []
    for window in in_windows(partitions, _PARTITIONS_AT_A_TIME):
        try:
            with sink.client.until(time.monotonic() + min(sink.client.request_seconds, _MOST_SECONDS)):
                transaction, messages = send_nothing(sink.client, sink.coordinators, window)
            faults += [message.fault for message in messages if message.fault is not None]
            if transaction is not None and not any(message.is_unconfirmed for message in messages):
                sink.coordinators.abort_all([transaction])
        except Exception as fault:  # noqa: BLE001 -- whatever it is
            faults.append(fault)
    if faults:
        _log.warning(
            "%s: not all topic partitions of the transactions that are aborted next could be written to before, so a "
            "row that arrives late may hide what follows it; if readers of a topic get nothing new, run "
            "pyspark-pulsar transactions unblock TOPIC: %s",
            sink.journal.prefix,
            faults[0],
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
        coordinator: The number of the coordinator whose transaction it is; None for any.

    Returns:
        The transaction, or None where no partition exists, and the messages with their faults.

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
    # A broker that cannot be reached is waited for once, and not once for each of its topics.
    owners = client.owner_connections(schemas)
    map_concurrently(lambda message: message.send(owners[message.topic]), messages)
    return transaction, messages


def _schemas(client: BrokerClient, partitions: Sequence[str]) -> dict[str, SchemaInfo | None]:
    """The partitions that are there, and the schema of each topic: namespaces may refuse producers without."""
    names = {name: TopicName.parse(name) for name in partitions}
    counts = client.present_partitions({name.without_partition() for name in names.values()})
    there = {text: name for text, name in names.items() if _is_there(name, counts[name.without_partition()])}
    schemas = client.schemas({name.without_partition() for name in there.values()})
    return {text: schemas[name.without_partition()] for text, name in there.items()}


def _is_there(name: TopicName, count: int | None) -> bool:
    """Also where the topic was made again meanwhile."""
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
        """Whether it was sent, or may have been, and has no receipt."""
        self._transaction = transaction
        # Namespaces may refuse messages that are not encrypted, and take those that are: for nobody, with a key that
        # nobody keeps.
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
        """To the topic's `owner`. Returns when it has its receipt, or `fault` is set."""
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
