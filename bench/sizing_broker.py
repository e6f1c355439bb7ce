"""The broker of bench/sizing_cluster.py: the commands of Pulsar's binary protocol that a driver sends."""

from __future__ import annotations

import contextlib
import socketserver
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark_pulsar.client.broker.connection import commands
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.tools.sizing.entries import encoder_of, made_up_rows, schema_of_rows

if TYPE_CHECKING:
    from sizing_cluster import Cluster

_MESSAGE = 9
_COLUMNS = 10
_EARLIEST = 2**64 - 1
_LATEST = 2**63 - 1


def start_broker(cluster: Cluster) -> int:
    """Start the broker, and return its port."""

    class Broker(_Connection):
        served = cluster

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Broker)
    server.daemon_threads = True
    Broker.port = int(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Broker.port


@dataclass
class _Cursor:
    """A consumer's next entry, and the consumer's first entry without acknowledgment."""

    topic: int
    k: int
    entry: int
    unacknowledged: tuple[int, int]
    permits: int = 0


class _Connection(socketserver.BaseRequestHandler):
    served: Cluster
    port = 0

    def setup(self) -> None:
        self._cursors: dict[int, _Cursor] = {}
        self._answers: dict[int, Callable[[Any], None]] = {
            commands.CONNECT: self._connect,
            commands.PING: self._ping,
            commands.PARTITIONED_METADATA: self._partitions,
            commands.LOOKUP: self._lookup,
            commands.GET_TOPICS_OF_NAMESPACE: self._topics,
            commands.GET_SCHEMA: self._schema,
            commands.SUBSCRIBE: self._subscribe,
            commands.FLOW: self._flow,
            commands.ACK: self._acknowledge,
            commands.GET_LAST_MESSAGE_ID: self._last,
            commands.CLOSE_CONSUMER: self._close,
        }
        self._out: list[bytes] = []

    def handle(self) -> None:
        buffer = bytearray()
        with contextlib.suppress(OSError):
            while data := self.request.recv(1 << 20):
                buffer += data
                at = 0
                while len(buffer) - at >= 8:
                    total, size = struct.unpack_from(">II", buffer, at)
                    if len(buffer) - at < total + 4:
                        break
                    command = wire.BaseCommand.FromString(bytes(buffer[at + 8 : at + 8 + size]))
                    at += total + 4
                    self._answers.get(command.type, lambda _: None)(command)
                del buffer[:at]
                self.request.sendall(b"".join(self._out))
                self._out.clear()

    def _send(self, number: int, **body: Any) -> None:
        self._out.append(commands.frame(wire.BaseCommand(type=number, **body)))

    def _connect(self, _: Any) -> None:
        connected = wire.CommandConnected(
            server_version="sizing", protocol_version=21, max_message_size=5 << 20
        )
        self._send(commands.CONNECTED, connected=connected)

    def _ping(self, _: Any) -> None:
        self._send(commands.PONG, pong=wire.CommandPong())

    def _partitions(self, command: Any) -> None:
        asked = command.partitionMetadata
        answer = wire.CommandPartitionedTopicMetadataResponse(
            partitions=0, request_id=asked.request_id, response=0
        )
        if self.served.number(asked.topic) is None:
            answer.response, answer.error, answer.message = 1, 11, "not found"
        self._send(22, partitionMetadataResponse=answer)

    def _lookup(self, command: Any) -> None:
        answer = wire.CommandLookupTopicResponse(
            brokerServiceUrl=f"pulsar://127.0.0.1:{self.port}",
            response=1,
            request_id=command.lookupTopic.request_id,
            authoritative=True,
        )
        self._send(24, lookupTopicResponse=answer)

    def _topics(self, command: Any) -> None:
        asked = command.getTopicsOfNamespace
        namespace = int(asked.namespace.rpartition("-")[2])
        digest = f"{namespace}-{self.served.topics}"
        changed = asked.topics_hash != digest
        answer = wire.CommandGetTopicsOfNamespaceResponse(
            request_id=asked.request_id,
            topics=self.served.names(namespace) if changed else [],
            topics_hash=digest,
            changed=changed,
        )
        self._send(33, getTopicsOfNamespaceResponse=answer)

    def _schema(self, command: Any) -> None:
        info = schema_of_rows("AVRO", _COLUMNS)
        assert info is not None
        schema = wire.Schema(name="Row", schema_data=info.document, type=4)
        answer = wire.CommandGetSchemaResponse(
            request_id=command.getSchema.request_id, schema=schema, schema_version=bytes(8)
        )
        self._send(35, getSchemaResponse=answer)

    def _subscribe(self, command: Any) -> None:
        asked, cluster = command.subscribe, self.served
        number = cluster.number(asked.topic)
        assert number is not None, asked.topic
        start = asked.start_message_id
        if start.ledgerId == _EARLIEST:
            k, entry = 0, 0
        elif start.ledgerId == _LATEST:
            k, entry = cluster.ledgers - 1, cluster.open_entries
        else:
            k, entry = cluster.place_of(start.ledgerId), start.entryId
            if (
                k < 0
            ):  # The requested ledger is before the topic's first ledger, so Pulsar starts at the first entry.
                k, entry = 0, 0
        cursor = _Cursor(number, k, entry, (cluster.ledger_id(number, k), entry))
        self._cursors[asked.consumer_id] = cursor
        self._send(commands.SUCCESS, success=wire.CommandSuccess(request_id=asked.request_id))

    def _close(self, command: Any) -> None:
        asked = command.close_consumer
        self._cursors.pop(asked.consumer_id, None)
        self._send(commands.SUCCESS, success=wire.CommandSuccess(request_id=asked.request_id))

    def _acknowledge(self, command: Any) -> None:
        cursor = self._cursors.get(command.ack.consumer_id)
        if cursor is not None:
            passed = command.ack.message_id[-1]
            cursor.unacknowledged = (passed.ledgerId, passed.entryId + 1)

    def _last(self, command: Any) -> None:
        asked, cluster = command.getLastMessageId, self.served
        cursor = self._cursors[asked.consumer_id]
        ledger, entry = cursor.unacknowledged
        answer = wire.CommandGetLastMessageIdResponse(
            request_id=asked.request_id,
            last_message_id=wire.MessageIdData(
                ledgerId=cluster.ledger_id(cursor.topic, cluster.ledgers - 1),
                entryId=cluster.open_entries - 1,
            ),
            consumer_mark_delete_position=wire.MessageIdData(ledgerId=ledger, entryId=(entry - 1) % 2**64),
        )
        self._send(30, getLastMessageIdResponse=answer)

    def _flow(self, command: Any) -> None:
        cursor = self._cursors.get(command.flow.consumer_id)
        if cursor is None:
            return
        cursor.permits += command.flow.messagePermits
        cluster = self.served
        while cursor.permits > 0:
            if cursor.entry >= cluster.entries(cursor.k):
                if cursor.k == cluster.ledgers - 1:
                    return
                cursor.k, cursor.entry = cursor.k + 1, 0
                continue
            self._out.append(self._message(command.flow.consumer_id, cursor))
            cursor.entry += 1
            cursor.permits -= cluster.entry_messages

    def _message(self, consumer: int, cursor: _Cursor) -> bytes:
        """Return a MESSAGE frame, which the package's own commands lack, because its kernel reads the frames."""
        cluster = self.served
        place = wire.MessageIdData(ledgerId=cluster.ledger_id(cursor.topic, cursor.k), entryId=cursor.entry)
        inner = place.SerializeToString()
        body = b"\x08" + _varint(consumer) + b"\x12" + _varint(len(inner)) + inner
        told = b"\x08" + _varint(_MESSAGE) + b"\x4a" + _varint(len(body)) + body
        entry = _ENTRIES.encode(cluster.entry_messages, cluster.published_ms(cursor.k, cursor.entry))
        return struct.pack(">II", 4 + len(told) + len(entry), len(told)) + told + entry


class _Entries:
    """A cache of entries by the second of their publish time."""

    def __init__(self) -> None:
        self._made: dict[int, bytes] = {}
        self._lock = threading.Lock()

    def encode(self, messages: int, published_ms: int) -> bytes:
        second = published_ms // 1000
        with self._lock:
            if second not in self._made:
                rows = made_up_rows(messages, _COLUMNS, 12)
                encoder = encoder_of(rows, schema_of_rows("AVRO", _COLUMNS), messages)
                (sent,) = encoder.encode(rows, second * 1000)
                size = int.from_bytes(sent.frames[4:8], "big")
                self._made[second] = bytes(sent.frames[8 + size :])
            return self._made[second]


_ENTRIES = _Entries()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
