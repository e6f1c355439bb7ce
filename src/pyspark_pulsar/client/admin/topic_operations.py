"""What an operator has a topic do over the admin REST API: compact, offload, unload, terminate.

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
    """See `AdminClient`. Compaction and offloading go on in the broker; their status is `NOT_RUN`, `RUNNING`, `SUCCESS`
    or `ERROR`, and with it comes the last error, empty without one."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def compact(self, partition: TopicPartition) -> None:
        """Begin to; one that runs already goes on."""
        path = topic_resource(partition.as_topic, "compaction")
        self._rest.change("PUT", path, f"compacting {partition}", expected=(_ACCEPTED, _CONFLICT))

    def compaction_status(self, partition: TopicPartition) -> tuple[str, str]:
        return self._status(partition, "compaction")

    def offload(self, partition: TopicPartition, ledger: int) -> None:
        """Begin to move all ledgers before that one to tiered storage; a move that runs already goes on."""
        path = topic_resource(partition.as_topic, "offload")
        body = {"ledgerId": ledger, "entryId": 0, "partitionIndex": partition.index}
        self._rest.change("PUT", path, f"offloading {partition}", body, expected=(_ACCEPTED, _CONFLICT))

    def offload_status(self, partition: TopicPartition) -> tuple[str, str]:
        return self._status(partition, "offload")

    def unload(self, topic: TopicName) -> None:
        """Its broker closes the topic, with all partitions; who reads and writes connects again, maybe to another."""
        self._rest.change("PUT", topic_resource(topic, "unload"), f"unloading {topic}", expected=(_ACCEPTED,))

    def terminate(self, topic: TopicName, partitions: int) -> dict[int, Position]:
        """Nobody can write to it again. Where each partition ends now, by its index, -1 of a topic that is not
        partitioned."""
        where = f"terminating {topic}"
        names = ("terminate", "partitions") if partitions else ("terminate",)
        text = self._rest.change("POST", topic_resource(topic, *names), where).text
        try:
            ends = as_object(json.loads(text), where)
            return {int(index): _end(last) for index, last in (ends if partitions else {-1: ends}).items()}
        except (KeyError, TypeError, ValueError) as fault:
            raise ProtocolError(
                f"{where}: expected the last message of each partition, got another answer ({fault!r})"
            ) from None

    def _status(self, partition: TopicPartition, operation: str) -> tuple[str, str]:
        where = f"reading the {operation} of {partition}"
        answer = as_object(self._rest.get(topic_resource(partition.as_topic, operation), where), where)
        return str(answer.get("status", NOT_RUN)), str(answer.get("lastError") or "")


def _end(last: dict[str, Any]) -> Position:
    """Of an entry of -1 the ledger is empty, and what is before it is not the end."""
    ledger, entry = int(last["ledgerId"]), int(last["entryId"])
    return EARLIEST if ledger < 0 else Position(ledger, entry + 1)
