"""Requests to the admin REST API for operations on topics: compact, offload, unload and terminate.

Source of the resources: `PersistentTopics` of Pulsar's admin API v2 (4.0.8).
"""

from __future__ import annotations

import json
from typing import Any, Final

from pyspark_pulsar.client.admin.answers import as_object
from pyspark_pulsar.client.admin.paths import topic_resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition

_ACCEPTED, _CONFLICT = 202, 409

RUNNING: Final = "RUNNING"
NOT_RUN: Final = "NOT_RUN"


class TopicOperations:
    """Requests for operations on topics, for `AdminClient`.

    The broker answers a request for a compaction or an offload before the operation ends. `compaction_status` and
    `offload_status` return a pair of the status and the last error. The status is `NOT_RUN`, `RUNNING`, `SUCCESS` or
    `ERROR`. If no error occurred, the error is an empty string.
    """

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def compact(self, partition: TopicPartition) -> None:
        """Start a compaction of the topic partition, unless a compaction is running."""
        path = topic_resource(partition.as_topic, "compaction")
        self._rest.change("PUT", path, f"compacting {partition}", expected=(_ACCEPTED, _CONFLICT))

    def compaction_status(self, partition: TopicPartition) -> tuple[str, str]:
        """Return the status and the error of the last compaction."""
        return self._status(partition, "compaction")

    def offload(self, partition: TopicPartition, ledger: int) -> None:
        """Start to offload all ledgers before `ledger` (exclusive) to tiered storage, unless an offload is running."""
        path = topic_resource(partition.as_topic, "offload")
        body = {"ledgerId": ledger, "entryId": 0, "partitionIndex": partition.index}
        self._rest.change("PUT", path, f"offloading {partition}", body, expected=(_ACCEPTED, _CONFLICT))

    def offload_status(self, partition: TopicPartition) -> tuple[str, str]:
        """Return the status and the error of the last offload."""
        return self._status(partition, "offload")

    def unload(self, topic: TopicName) -> None:
        """Unload the topic and its partitions from their brokers. Clients reconnect, possibly to other brokers."""
        self._rest.change("PUT", topic_resource(topic, "unload"), f"unloading {topic}", expected=(_ACCEPTED,))

    def terminate(self, topic: TopicName, partitions: int) -> dict[int, Position]:
        """Forbid further writes to the topic, permanently.

        Returns:
            The log end of each partition, by the index of the partition. A non-partitioned topic has the index -1.

        """
        where = f"terminating {topic}"
        names = ("terminate", "partitions") if partitions else ("terminate",)
        text = self._rest.change("POST", topic_resource(topic, *names), where).text
        try:
            ends = as_object(json.loads(text), where)
            return {int(index): _end(last) for index, last in (ends if partitions else {-1: ends}).items()}
        except (KeyError, TypeError, ValueError) as fault:
            raise ProtocolError(
                f"{where}: expected the last message of each partition, got another answer ({fault!r}); "
                f"check admin.url"
            ) from None

    def _status(self, partition: TopicPartition, operation: str) -> tuple[str, str]:
        where = f"reading the {operation} of {partition}"
        answer = as_object(self._rest.get(topic_resource(partition.as_topic, operation), where), where)
        return str(answer.get("status", NOT_RUN)), str(answer.get("lastError") or "")


def _end(last: dict[str, Any]) -> Position:
    """Return the position after the last message. A ledger id below 0 means that the topic has no messages."""
    ledger, entry = int(last["ledgerId"]), int(last["entryId"])
    return EARLIEST if ledger < 0 else Position(ledger, entry + 1)
