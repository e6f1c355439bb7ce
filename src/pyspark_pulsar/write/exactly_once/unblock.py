"""The command `pyspark-pulsar transactions unblock`, for a topic whose readers wait at rows of an aborted transaction.

A row may reach a topic partition after its transaction was aborted. The partition may then treat the transaction as
open, although no coordinator knows the transaction any longer (`abort`). Readers wait at this row. If no earlier
transaction of the same coordinator is open, the wait ends when another transaction of this coordinator ends in the
partition. So the command sends an empty message to each partition, in a transaction of each coordinator, and aborts
these transactions.
"""

from __future__ import annotations

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.requests import in_windows
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.errors import TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.write.exactly_once.abort import EmptyMessage, send_nothing

_PARTITIONS_AT_A_TIME = 500


def unblock_topic(options: ConnectionOptions, topic: TopicName) -> list[str]:
    """Make readers of the topic skip rows whose transactions have already ended. Open transactions stay open.

    Args:
        options: The options of the connections to brokers.
        topic: A topic, or one partition of a topic.

    Returns:
        The full names of the topic partitions.

    Raises:
        TopicNotFoundError: The topic does not exist.
        PulsarError: Writing to a partition failed. All other partitions are unblocked.

    """
    with BrokerClient.for_planning(options) as client:
        coordinators = Coordinators(client)
        coordinators.check()
        count = client.present_partitions([topic])[topic]
        if count is None:
            raise TopicNotFoundError(f"topic {topic}: expected an existing topic, got none; correct the name")
        partitions = [str(topic.with_partition(index)) for index in range(count)] or [str(topic)]
        faults: list[Exception] = []
        for number in range(coordinators.count()):
            for window in in_windows(partitions, _PARTITIONS_AT_A_TIME):
                faults += _pass(client, coordinators, window, number)
    if faults:
        raise faults[0]
    return partitions


def _pass(
    client: BrokerClient, coordinators: Coordinators, partitions: list[str], coordinator: int
) -> list[Exception]:
    """Begin and end one transaction of the coordinator in all of the partitions, and return the errors."""
    transaction, messages = send_nothing(client, coordinators, partitions, coordinator)
    unconfirmed: list[EmptyMessage] = [message for message in messages if message.is_unconfirmed]
    # A message without a receipt may arrive after an abort, and would then block readers too. So its transaction is not
    # aborted, and times out.
    if transaction is not None and not unconfirmed:
        coordinators.abort_all([transaction])
    return [message.fault for message in messages if message.fault is not None]
