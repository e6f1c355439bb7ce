"""The command `pyspark-pulsar transactions unblock`: end abandoned rows that hide the rows after them.

A row may reach a topic partition after its transaction was aborted. Then the partition may count it as a row of an open
transaction, which no coordinator knows any longer (`abort`). The partition forgets that transaction when another
transaction of the same coordinator ends there, and no earlier one of that coordinator is open. So an empty transaction
of each coordinator is sent to each partition and aborted.
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
    """End rows of transactions that have already ended. Open transactions stay open.

    Args:
        options: The connections to brokers.
        topic: A topic, or one partition of it.

    Returns:
        The names of the topic partitions.

    Raises:
        TopicNotFoundError: The topic does not exist.
        PulsarError: A partition could not be written to. The others are done.

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
    """End a transaction of the coordinator in each partition, and return the failures."""
    transaction, messages = send_nothing(client, coordinators, partitions, coordinator)
    unconfirmed: list[EmptyMessage] = [message for message in messages if message.is_unconfirmed]
    # A message without a receipt may arrive after the abort and hide rows itself. Its transaction times out.
    if transaction is not None and not unconfirmed:
        coordinators.abort_all([transaction])
    return [message.fault for message in messages if message.fault is not None]
