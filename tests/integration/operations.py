"""Random sequences of operations, which run on a real server and on the simulated one, and their answers.

Every operation is a call of the package's client that waits for its answer. So a sequence has one order of events, and
both servers must answer alike. Answers name no positions and no ids of transactions, which differ.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import PROBE_ID
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.errors import PulsarError
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId
from pyspark_pulsar.options import ConnectionOptions
from pyspark_pulsar.write.exactly_once.journal_topic import JournalTopic, JournalTopicWriter

Operation = tuple[str, int, int]
"""The name of a method of `Executor`, and its two arguments."""

TOPICS: Final = 2
_TIMEOUT_MS: Final = 300_000
_KINDS: Final = (
    *("begin", "add", "add", "send", "send", "send", "plain"),
    *("commit", "commit", "abort", "abort", "read", "read", "unload", "send_unadded"),
    *("fence", "append_exclusive"),
)


def draw_operations(seed: int, count: int) -> list[Operation]:
    """Return the operations of a seed. The last ones read both topics."""
    rng = random.Random(seed)
    drawn = [(rng.choice(_KINDS), rng.randrange(4), rng.randrange(TOPICS)) for _ in range(count)]
    return [*drawn, *(("read", 0, topic) for topic in range(TOPICS))]


@dataclass
class Executor:
    """Runs operations on the topics of one server.

    Attributes:
        options: The options of the connections.
        prefix: The topics' names without their numbers.
        unload_topic: Unload a topic.
        await_buffer: Wait until the transaction buffer of a topic has recovered.

    """

    options: ConnectionOptions
    prefix: str
    unload_topic: Callable[[str], None]
    await_buffer: Callable[[str], None]
    _transactions: dict[int, TransactionId] = field(default_factory=dict)
    _exclusive: dict[int, JournalTopicWriter] = field(default_factory=dict)
    _begun: set[TransactionId] = field(default_factory=set)
    _number: int = 0

    def run(self, operations: Sequence[Operation]) -> list[str]:
        """Run the operations, and return the answer of each."""
        with BrokerClient(self.options) as client:
            self._coordinators = Coordinators(client)
            names = [TopicName.parse(f"{self.prefix}-{index}") for index in range(TOPICS + 1)]
            topics = JournalTopic.open(client, names, PROBE_ID + 1)
            self._topics = topics[:TOPICS]
            self._fenced = [
                JournalTopic(client, topics[TOPICS].name, PROBE_ID + 50 + slot) for slot in range(2)
            ]
            for topic in topics:
                topic.append({"n": 0})
            try:
                return [self._answer(*operation) for operation in operations]
            finally:
                # An open transaction would keep the coordinator from ending others that are forgotten.
                self._coordinators.abort_all(sorted(self._begun))

    def _answer(self, name: str, first: int, second: int) -> str:
        try:
            result = getattr(self, f"_{name}")(first, second)
        except PulsarError as fault:
            result = _kind(fault)
        return f"{name} {first} {second}: {'ok' if result is None else result}"

    def _transaction(self, index: int) -> TransactionId:
        if index not in self._transactions:
            self._begin(index, 0)
        return self._transactions[index]

    def _begin(self, index: int, _: int) -> None:
        self._transactions[index] = self._coordinators.begin(_TIMEOUT_MS)
        self._begun.add(self._transactions[index])

    def _add(self, index: int, topic: int) -> None:
        self._coordinators.add_partitions(self._transaction(index), [self._topics[topic].name])

    def _send(self, index: int, topic: int) -> Any:
        """Add the topic, and send a message, as a task does. A transaction that has ended refuses the topic."""
        self._add(index, topic)
        self._send_unadded(index, topic)

    def _send_unadded(self, index: int, topic: int) -> None:
        """Send a message without adding the topic, as a task that is late."""
        self._number += 1
        self._topics[topic].append({"n": self._number}, self._transaction(index))

    def _plain(self, _: int, topic: int) -> None:
        self._number += 1
        self._topics[topic].append({"n": self._number})

    def _commit(self, index: int, _: int) -> str:
        return "had ended" if self._coordinators.commit_all([self._transaction(index)]) else "committed"

    def _abort(self, index: int, _: int) -> None:
        self._coordinators.abort_all([self._transaction(index)])

    def _read(self, _: int, topic: int) -> list[Any]:
        self.await_buffer(self._topics[topic].name)
        return [record.content["n"] for record in self._topics[topic].since(EARLIEST)]

    def _unload(self, _: int, topic: int) -> None:
        self.unload_topic(self._topics[topic].name)
        self.await_buffer(self._topics[topic].name)

    def _fence(self, index: int, _: int) -> None:
        """Open another exclusive writer, which fences the earlier ones."""
        slot = index % 2
        if slot in self._exclusive:
            self._exclusive.pop(slot).close()
        self._exclusive[slot] = self._fenced[slot].writer(exclusive=True)

    def _append_exclusive(self, index: int, _: int) -> Any:
        self._number += 1
        if index % 2 not in self._exclusive:
            self._fence(index, 0)
        self._exclusive[index % 2].append({"n": self._number})
        return [record.content["n"] for record in self._fenced[0].since(EARLIEST)]


def _kind(fault: PulsarError) -> str:
    """Return the class of an error, with the broker's code, which the message contains."""
    code = re.search(r"the broker answered (\w+)", str(fault))
    return f"{type(fault).__name__} {code[1]}" if code else type(fault).__name__
