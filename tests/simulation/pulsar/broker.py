"""Simulated brokers: they answer the commands of the package's client as Pulsar 4.0.8 does."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pyspark_pulsar.client.broker.connection import commands as number
from pyspark_pulsar.client.broker.connection.commands import frame
from pyspark_pulsar.client.wire import commands_pb2 as wire
from simulation.network import Link, Server, Socket
from simulation.pulsar.coordinator import ABORTING, COMMITTING, OPEN, Coordinator, TransactionMeta
from simulation.pulsar.send_command import Send, parse_send
from simulation.pulsar.topic import (
    ABORT,
    COMMIT,
    NO_SNAPSHOT,
    NOT_STARTED,
    NOTHING,
    PLAIN,
    READY,
    RECOVERING,
    Entry,
    OpenConsumer,
    OpenProducer,
    Topic,
    message_frame,
)
from simulation.world import World

ASSIGN: Final = "persistent://pulsar/system/transaction_coordinator_assign"
_NOT_PERSISTED, _NOT_READY, _NOT_FOUND, _BUSY, _NOT_ALLOWED = 2, 6, 11, 16, 22
_NO_COORDINATOR, _INVALID_STATUS, _NO_TRANSACTION, _FENCED = 20, 21, 24, 25
_EXCLUSIVE_WITH_FENCING = 3
_SEND: Final = 6
_SNAPSHOT_SECONDS: Final = 0.004
_STEP_SECONDS: Final = 0.001
_RECOVERY_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 0.1
_TWICE_SECONDS, _BLIND_SECONDS = 5.0, 2.5


class Broker(Server):
    """A broker, which owns some topics and coordinators."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.is_up = True
        self.frozen_until = 0.0
        self.links: set[Link] = set()

    def accepts(self) -> bool:
        return self.is_up

    def is_silent_until(self) -> float:
        return self.frozen_until

    def lose(self, link: Link) -> None:
        self.links.discard(link)
        self.cluster.forget_link(link)

    def receive(self, link: Link, data: bytes) -> None:
        """Handle the frames of one write. A transport sends whole frames only."""
        offset = 0
        while offset < len(data):
            start = offset
            size = int.from_bytes(data[offset : offset + 4], "big")
            length = int.from_bytes(data[offset + 4 : offset + 8], "big")
            body = data[offset + 8 : offset + 8 + length]
            tail = data[offset + 8 + length : offset + 4 + size]
            offset += 4 + size
            if link.is_lost:
                return
            self.links.add(link)
            seconds = self.cluster.on_request(self, link, partial(self._handle, link, body, tail))
            if seconds:
                link.stall(seconds, data[start:])
                return

    def _handle(self, link: Link, body: bytes, tail: bytes) -> None:
        if body[1] == _SEND:
            self.cluster.store(self, link, parse_send(body), tail)
        else:
            self.cluster.handle(self, link, wire.BaseCommand.FromString(body), tail)


class Cluster:
    """Brokers, topics and coordinators of one Pulsar cluster."""

    def __init__(self, world: World, brokers: int = 1, coordinators: int = 1) -> None:
        self.world = world
        self.brokers = [Broker(self, f"broker-{index}") for index in range(brokers)]
        self.coordinators = [Coordinator(index) for index in range(coordinators)]
        self.topics: dict[str, Topic] = {}
        self.partitions: dict[str, int] = {ASSIGN: coordinators}
        self.owners: dict[str, Broker] = {}
        self.recovering_until: dict[int, float] = {}
        self.on_request: Callable[[Broker, Link, Callable[[], None]], float | None] = lambda *call: call[2]()
        """A function that lets a broker handle a request. It returns seconds if the request arrives later instead."""
        self.seconds_until_recovery: Callable[[], float] = lambda: 0.0
        """The time after which the transaction buffer of a loaded topic begins to recover."""
        self.entries_of_ledger = 0
        """The number of entries after which a topic begins a new ledger; 0 if only loading begins one."""
        self._next_ledger = 1
        self._next_producer = 0
        self._handlers: dict[int, Callable[[Broker, Link, Any, bytes], None]] = {
            number.CONNECT: self._connect,
            number.PING: lambda broker, link, command, _: self._send(
                link, number.PONG, pong=wire.CommandPong()
            ),
            number.PONG: lambda *_: None,
            number.PARTITIONED_METADATA: self._partitions,
            number.LOOKUP: self._lookup,
            number.GET_SCHEMA: self._schema,
            number.PRODUCER: self._open_producer,
            number.CLOSE_PRODUCER: self._close_producer,
            number.SUBSCRIBE: self._subscribe,
            number.FLOW: self._flow,
            number.ACK: self._acknowledge,
            number.GET_LAST_MESSAGE_ID: self._last_message_id,
            number.CLOSE_CONSUMER: self._close_consumer,
            number.TC_CLIENT_CONNECT: self._connect_coordinator,
            number.NEW_TXN: self._new_transaction,
            number.ADD_PARTITION_TO_TXN: self._add_partitions,
            number.END_TXN: self._end_transaction,
        }

    # Topics

    def create_topic(self, name: str, partitions: int = 0) -> None:
        """Create a topic with partitions, or one without."""
        self.partitions[name] = partitions
        for each in [f"{name}-partition-{index}" for index in range(partitions)] or [name]:
            self.topics[each] = Topic(each)

    def owner(self, name: str) -> Broker:
        """Return the broker that owns a topic, after assigning it to a running broker."""
        owner = self.owners.get(name)
        if owner is None or not owner.is_up:
            running = [broker for broker in self.brokers if broker.is_up] or self.brokers
            owner = self.owners[name] = running[zlib.crc32(name.encode()) % len(running)]
        return owner

    def load(self, topic: Topic) -> None:
        if topic.is_loaded:
            return
        topic.is_loaded = True
        self._begin_ledger(topic)
        if self.world.now - topic.loaded_at < _TWICE_SECONDS:
            topic.is_blind = True
            self.world.at(self.world.now + _BLIND_SECONDS, lambda: self._shows(topic))
        topic.loaded_at = self.world.now
        topic.state = NOT_STARTED
        if seconds := self.seconds_until_recovery():
            self.world.at(self.world.now + seconds, lambda: self._recover(topic))
        else:
            self._recover(topic)

    def _begin_ledger(self, topic: Topic) -> None:
        topic.ledger, self._next_ledger = self._next_ledger, self._next_ledger + 1
        topic.trim()

    def _append(self, topic: Topic, tail: bytes) -> Entry:
        """Append a message without a transaction."""
        entry = topic.append(PLAIN, tail, None)
        if entry.at[1] + 1 == self.entries_of_ledger:
            self._begin_ledger(topic)
        return entry

    def _recover(self, topic: Topic) -> None:
        if not topic.is_loaded or topic.state != NOT_STARTED:
            return
        if topic.has_snapshot:
            topic.state = RECOVERING
            self.world.at(self.world.now + _RECOVERY_SECONDS, lambda: self._recovered(topic))
        else:
            topic.state = NO_SNAPSHOT
            self._dispatch(topic)

    def _shows(self, topic: Topic) -> None:
        topic.is_blind = False
        self._dispatch(topic)

    def _recovered(self, topic: Topic) -> None:
        if topic.is_loaded and topic.state == RECOVERING:
            topic.replay()
            topic.state = READY
            self._dispatch(topic)

    def unload(self, topic: Topic) -> None:
        """Close a topic. Its producers and consumers must look it up again."""
        if not topic.is_loaded:
            return
        self._disconnect_producers(topic)
        for consumer in topic.consumers:
            closing = wire.CommandCloseConsumer(consumer_id=consumer.consumer_id, request_id=0)
            self._send(consumer.link, number.CLOSE_CONSUMER, close_consumer=closing)
        topic.forget()
        self.owners.pop(topic.name, None)

    def _disconnect_producers(self, topic: Topic) -> None:
        for producer in topic.producers.values():
            close = wire.CommandCloseProducer(producer_id=producer.producer_id, request_id=0)
            self._send(producer.link, number.CLOSE_PRODUCER, close_producer=close)
        topic.producers.clear()

    def forget_link(self, link: Link) -> None:
        for topic in self.topics.values():
            for name in [name for name, each in topic.producers.items() if each.link is link]:
                del topic.producers[name]
            topic.consumers = [each for each in topic.consumers if each.link is not link]

    def crash(self, broker: Broker, seconds: float) -> None:
        """Kill a broker, and start it again after some seconds."""
        self.world.say(broker.name, f"is killed for {seconds:.1f} s")
        broker.is_up = False
        for link in list(broker.links):
            link.reset()
        for name, owner in list(self.owners.items()):
            if owner is broker:
                del self.owners[name]
                if name.startswith(ASSIGN):
                    self.recovering_until[int(name.rpartition("-")[2])] = self.world.now + _RECOVERY_SECONDS
                elif topic := self.topics.get(name):
                    topic.forget()
        self.world.at(self.world.now + seconds, lambda: setattr(broker, "is_up", True))
        for coordinator in self.coordinators:
            for meta in list(coordinator.transactions.values()):
                if meta.status != OPEN:
                    self._end_partitions(coordinator, meta, None)

    # Commands

    def handle(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        self._handlers[command.type](broker, link, command, tail)

    def _send(self, link: Link, kind: int, **field: Any) -> None:
        link.to_client(frame(wire.BaseCommand(type=kind, **field)))

    def _error(self, link: Link, request_id: int, code: int, text: str) -> None:
        error = wire.CommandError(request_id=request_id, error=code, message=text)
        self._send(link, number.ERROR, error=error)

    def _succeed(self, link: Link, request_id: int) -> None:
        self._send(link, number.SUCCESS, success=wire.CommandSuccess(request_id=request_id))

    def _connect(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        connected = wire.CommandConnected(server_version="Pulsar 4.0.8", protocol_version=21)
        self._send(link, number.CONNECTED, connected=connected)

    def _partitions(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.partitionMetadata
        count = self.partitions.get(request.topic)
        if count is None and request.metadata_auto_creation_enabled:
            self.create_topic(request.topic)
            count = 0
        answer = wire.CommandPartitionedTopicMetadataResponse(request_id=request.request_id)
        if count is None:
            answer.response, answer.error, answer.message = 1, _NOT_FOUND, "no such topic"
        else:
            answer.response, answer.partitions = 0, count
        self._send(link, 22, partitionMetadataResponse=answer)

    def _lookup(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.lookupTopic
        answer = wire.CommandLookupTopicResponse(request_id=request.request_id)
        if request.topic not in self.topics and not request.topic.startswith(ASSIGN):
            answer.response, answer.error, answer.message = 2, _NOT_FOUND, "no such topic"
        else:
            owner = self.owner(request.topic)
            answer.response, answer.authoritative = 1, True
            answer.brokerServiceUrl = f"pulsar://{owner.name}:6650"
        self._send(link, 24, lookupTopicResponse=answer)

    def _schema(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        answer = wire.CommandGetSchemaResponse(request_id=command.getSchema.request_id)
        answer.error_code, answer.error_message = _NOT_FOUND, "no schema"
        self._send(link, 35, getSchemaResponse=answer)

    def _owned(self, broker: Broker, link: Link, name: str, request_id: int) -> Topic | None:
        topic = self.topics.get(name)
        if topic is None:
            self._error(link, request_id, _NOT_FOUND, f"no such topic {name}")
        elif self.owner(name) is not broker:
            self._error(link, request_id, _NOT_READY, f"{name} is not served by this broker")
        else:
            self.load(topic)
            return topic
        return None

    def _open_producer(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.producer
        topic = self._owned(broker, link, request.topic, request.request_id)
        if topic is None:
            return
        is_exclusive = request.producer_access_mode == _EXCLUSIVE_WITH_FENCING
        answer = wire.CommandProducerSuccess(request_id=request.request_id)
        if is_exclusive:
            if request.HasField("topic_epoch") and request.topic_epoch < (topic.epoch or 0):
                self._error(link, request.request_id, _FENCED, "the topic was fenced by another producer")
                return
            if not request.HasField("topic_epoch"):
                topic.epoch = 0 if topic.epoch is None else topic.epoch + 1
            self._disconnect_producers(topic)
        elif any(other.is_exclusive for other in topic.producers.values()):
            self._error(link, request.request_id, _BUSY, "the topic has an exclusive producer")
            return
        name = request.producer_name
        if not name:
            self._next_producer += 1
            name = f"standalone-{self._next_producer}"
        known = topic.producers.get(name)
        if known is not None and known.link is not link:
            self._error(link, request.request_id, _BUSY, f"producer {name} is connected")
            return
        producer = OpenProducer(link, request.producer_id, name, is_exclusive)
        topic.producers[name] = producer
        link.state[("producer", request.producer_id)] = (topic, producer)
        if request.initial_subscription_name:
            topic.cursors.setdefault(request.initial_subscription_name, NOTHING)
        answer.producer_name, answer.last_sequence_id = name, -1
        if topic.epoch is not None:
            answer.topic_epoch = topic.epoch
        self._send(link, number.PRODUCER_SUCCESS, producer_success=answer)

    def _close_producer(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.close_producer
        topic, producer = link.state.pop(("producer", request.producer_id), (None, None))
        if topic is not None and topic.producers.get(producer.name) is producer:
            del topic.producers[producer.name]
        self._succeed(link, request.request_id)

    def store(self, broker: Broker, link: Link, send: Send, tail: bytes) -> None:
        """Store a message, and send its receipt."""
        topic, producer = link.state.get(("producer", send.producer_id), (None, None))
        if topic is None or topic.producers.get(producer.name) is not producer:
            return  # Brokers close the connection, or ignore messages of closed producers.
        if send.txnid_least_bits is None:
            entry = self._append(topic, tail)
            self._receipt(link, send, entry.at)
            self._dispatch(topic)
        else:
            self._store_row(topic, producer, send, tail)

    def _store_row(self, topic: Topic, producer: OpenProducer, send: Any, tail: bytes) -> None:
        """Store a message of a transaction, as soon as the buffer is ready. Its first one makes a snapshot first."""
        if topic.producers.get(producer.name) is not producer:
            return
        if topic.state == NOT_STARTED:
            # The topic disconnects all its producers, as after every message that it could not store.
            self._disconnect_producers(topic)
            text = f"Transaction Buffer recover failed, the current state is: {topic.state}"
            self._refuse(producer.link, send, _NOT_PERSISTED, text)
            return
        if topic.state == NO_SNAPSHOT:
            topic.state = RECOVERING
            self.world.at(self.world.now + _SNAPSHOT_SECONDS, lambda: self._snapshot_taken(topic))
        if topic.state == RECOVERING:
            later = self.world.now + _STEP_SECONDS
            self.world.at(later, lambda: self._store_row(topic, producer, send, tail))
            return
        transaction = (send.txnid_most_bits, send.txnid_least_bits)
        if topic.has_ended(transaction):
            self._refuse(producer.link, send, _NOT_ALLOWED, f"Transaction {transaction} has been ended.")
            return
        entry = topic.append_rows(tail, transaction)
        self._receipt(producer.link, send, entry.at)

    def _refuse(self, link: Link, send: Any, code: int, text: str) -> None:
        error = wire.CommandSendError(producer_id=send.producer_id, sequence_id=send.sequence_id)
        error.error, error.message = code, text
        self._send(link, number.SEND_ERROR, send_error=error)

    def _snapshot_taken(self, topic: Topic) -> None:
        if topic.is_loaded and topic.state == RECOVERING and not topic.has_snapshot:
            topic.has_snapshot = True
            topic.state = READY

    def _receipt(self, link: Link, send: Any, at: tuple[int, int]) -> None:
        receipt = wire.CommandSendReceipt(producer_id=send.producer_id, sequence_id=send.sequence_id)
        receipt.message_id.ledgerId, receipt.message_id.entryId = at
        self._send(link, number.SEND_RECEIPT, send_receipt=receipt)

    def _subscribe(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.subscribe
        topic = self._owned(broker, link, request.topic, request.request_id)
        if topic is None:
            return
        start = request.start_message_id
        if request.durable:
            next_at = topic.cursors.setdefault(request.subscription, NOTHING)
        elif start.ledgerId >= 2**63 - 1:
            last = topic.entries[-1].at if topic.entries else NOTHING
            next_at = NOTHING if start.ledgerId == 2**64 - 1 else (last[0], last[1] + 1)
        else:
            next_at = (start.ledgerId, start.entryId)
        marked = max(next_at, topic.first)
        consumer = OpenConsumer(
            link, request.consumer_id, next_at, marked, 0, request.subscription, request.durable
        )
        topic.consumers.append(consumer)
        link.state[("consumer", request.consumer_id)] = (topic, consumer)
        self._succeed(link, request.request_id)

    def _flow(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        topic, consumer = link.state.get(("consumer", command.flow.consumer_id), (None, None))
        if topic is not None and consumer in topic.consumers:
            consumer.permits += command.flow.messagePermits
            self._dispatch_to(topic, consumer)

    def _dispatch(self, topic: Topic) -> None:
        for consumer in topic.consumers:
            self._dispatch_to(topic, consumer)

    def _dispatch_to(self, topic: Topic, consumer: OpenConsumer) -> None:
        if consumer.permits <= 0:
            return
        frames = []
        for entry in topic.readable:
            if entry.at < consumer.next_at:
                continue
            if consumer.permits <= 0:
                break
            consumer.next_at = (entry.at[0], entry.at[1] + 1)
            if topic.is_shown(entry):
                consumer.permits -= 1
                frames.append(message_frame(consumer, entry))
        if frames:
            consumer.link.to_client(b"".join(frames))

    def _acknowledge(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.ack
        topic, consumer = link.state.get(("consumer", request.consumer_id), (None, None))
        if topic is not None and consumer.durable:
            where = request.message_id[0]
            passed = (where.ledgerId, number.signed(where.entryId) + 1)
            topic.cursors[consumer.subscription] = max(topic.cursors[consumer.subscription], passed)
        answer = wire.CommandAckResponse(consumer_id=request.consumer_id, request_id=request.request_id)
        self._send(link, 38, ackResponse=answer)

    def _last_message_id(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.getLastMessageId
        topic, consumer = link.state.get(("consumer", request.consumer_id), (None, None))
        if topic is None or consumer not in topic.consumers:
            self._error(link, request.request_id, _NOT_READY, "the consumer is closed")
            return
        if topic.is_recovering:
            later = self.world.now + _STEP_SECONDS
            self.world.at(later, lambda: self._last_message_id(broker, link, command, tail))
            return
        answer = wire.CommandGetLastMessageIdResponse(request_id=request.request_id)
        ledger, entry = topic.last_shown
        answer.last_message_id.ledgerId, answer.last_message_id.entryId = ledger % 2**64, entry % 2**64
        marked = consumer.marked
        if consumer.durable:
            # Deleting the ledger of a durable cursor does not move the cursor.
            cursor = topic.cursors[consumer.subscription]
            marked = topic.first if cursor == NOTHING else cursor
        answer.consumer_mark_delete_position.ledgerId = marked[0] % 2**64
        answer.consumer_mark_delete_position.entryId = (marked[1] - 1) % 2**64
        self._send(link, 30, getLastMessageIdResponse=answer)

    def _close_consumer(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.close_consumer
        topic, consumer = link.state.pop(("consumer", request.consumer_id), (None, None))
        if topic is not None and consumer in topic.consumers:
            topic.consumers.remove(consumer)
        self._succeed(link, request.request_id)

    # Transactions

    def _coordinator(self, broker: Broker, index: int) -> Coordinator | None:
        """Return a coordinator that this broker runs, or None if the broker cannot answer for it now."""
        if index >= len(self.coordinators) or self.owner(f"{ASSIGN}-partition-{index}") is not broker:
            return None
        if self.recovering_until.get(index, 0.0) > self.world.now:
            return None
        return self.coordinators[index]

    def _connect_coordinator(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.tcClientConnectRequest
        answer = wire.CommandTcClientConnectResponse(request_id=request.request_id)
        if self._coordinator(broker, request.tc_id) is None:
            answer.error, answer.message = _NO_COORDINATOR, "the coordinator is not here"
        self._send(link, 63, tcClientConnectResponse=answer)

    def _new_transaction(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.newTxn
        answer = wire.CommandNewTxnResponse(request_id=request.request_id)
        coordinator = self._coordinator(broker, request.tc_id)
        if coordinator is None:
            answer.error, answer.message = _NO_COORDINATOR, "the coordinator is not here"
        else:
            timeout = self.world.now + request.txn_ttl_seconds / 1000
            meta = coordinator.begin(timeout)
            answer.txnid_most_bits, answer.txnid_least_bits = coordinator.number, meta.least
            self.world.at(timeout, lambda: self._time_out(coordinator, meta))
        self._send(link, 51, newTxnResponse=answer)

    def _time_out(self, coordinator: Coordinator, meta: TransactionMeta) -> None:
        if meta.status == OPEN:
            self.world.say("coordinator", f"transaction ({coordinator.number},{meta.least}) times out")
            meta.status = ABORTING
            self._end_partitions(coordinator, meta, None)

    def _found(
        self, broker: Broker, transaction: Any, answer: Any
    ) -> tuple[Coordinator, TransactionMeta] | None:
        coordinator = self._coordinator(broker, transaction.txnid_most_bits)
        if coordinator is None:
            answer.error, answer.message = _NO_COORDINATOR, "the coordinator is not here"
            return None
        meta = coordinator.transactions.get(transaction.txnid_least_bits)
        if meta is None:
            answer.error, answer.message = _NO_TRANSACTION, "no such transaction"
            return None
        return coordinator, meta

    def _add_partitions(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.addPartitionToTxn
        answer = wire.CommandAddPartitionToTxnResponse(request_id=request.request_id)
        found = self._found(broker, request, answer)
        if found is not None:
            _, meta = found
            if meta.status != OPEN:
                answer.error, answer.message = _INVALID_STATUS, f"the transaction is {meta.status}"
            else:
                meta.partitions += [name for name in request.partitions if name not in meta.partitions]
        self._send(link, 53, addPartitionToTxnResponse=answer)

    def _end_transaction(self, broker: Broker, link: Link, command: Any, tail: bytes) -> None:
        request = command.endTxn
        answer = wire.CommandEndTxnResponse(request_id=request.request_id)
        found = self._found(broker, request, answer)
        wanted = COMMITTING if request.txn_action == 0 else ABORTING
        if found is None:
            self._send(link, 57, endTxnResponse=answer)
            return
        coordinator, meta = found
        if meta.status not in (OPEN, wanted):
            answer.error, answer.message = _INVALID_STATUS, f"the transaction is {meta.status}"
            self._send(link, 57, endTxnResponse=answer)
            return
        meta.status = wanted
        self._end_partitions(coordinator, meta, lambda: self._send(link, 57, endTxnResponse=answer))

    def _end_partitions(
        self, coordinator: Coordinator, meta: TransactionMeta, done: Callable[[], None] | None
    ) -> None:
        """End a transaction in each of its partitions, one after another, and then forget it."""
        left = list(meta.partitions)

        def step() -> None:
            if coordinator.transactions.get(meta.least) is not meta:
                if done is not None:
                    done()
                return
            if not left:
                del coordinator.transactions[meta.least]
                if done is not None:
                    done()
                return
            topic = self.topics.get(left[0])
            if topic is not None:
                owner = self.owner(topic.name)
                if not owner.is_up or owner.frozen_until > self.world.now:
                    self.world.at(self.world.now + _RETRY_SECONDS, step)
                    return
                self.load(topic)
                if topic.is_recovering:
                    self.world.at(self.world.now + _STEP_SECONDS, step)
                    return
                kind = COMMIT if meta.status == COMMITTING else ABORT
                topic.end((coordinator.number, meta.least), kind, coordinator.low_water_mark)
                self._dispatch(topic)
            del left[0]
            self.world.at(self.world.now + _STEP_SECONDS, step)

        self.world.at(self.world.now + _STEP_SECONDS, step)

    # Faults

    def server_of(self, address: tuple[str, int]) -> Broker:
        return next(broker for broker in self.brokers if broker.name == address[0])

    def socket(self, process: Any) -> Socket:
        """Open a socket of a process."""
        return Socket(self.world, process, self.server_of)
