"""Type numbers and framing of the protocol's commands, and the field name of each request and answer.

The numbers are the values of the enum `BaseCommand.Type` in the protocol specification.
"""

from __future__ import annotations

import struct

from pyspark_pulsar.client.wire import commands_pb2 as wire

CONNECT, CONNECTED, PRODUCER, SEND_RECEIPT, SEND_ERROR = 2, 3, 5, 7, 8
SUBSCRIBE, ACK, FLOW, SUCCESS, ERROR, CLOSE_PRODUCER, CLOSE_CONSUMER = 4, 10, 11, 13, 14, 15, 16
PRODUCER_SUCCESS, PING, PONG = 17, 18, 19
PARTITIONED_METADATA, LOOKUP, GET_LAST_MESSAGE_ID, GET_TOPICS_OF_NAMESPACE, GET_SCHEMA = 21, 23, 29, 32, 34
AUTH_CHALLENGE, AUTH_RESPONSE = 36, 37
NEW_TXN, ADD_PARTITION_TO_TXN, END_TXN, TC_CLIENT_CONNECT = 50, 52, 56, 62
SCALABLE_TOPIC_LOOKUP, SCALABLE_TOPIC_CLOSE = 70, 72

REQUESTS = {
    SUBSCRIBE: "subscribe",
    ACK: "ack",
    PRODUCER: "producer",
    CLOSE_PRODUCER: "close_producer",
    CLOSE_CONSUMER: "close_consumer",
    PARTITIONED_METADATA: "partitionMetadata",
    LOOKUP: "lookupTopic",
    GET_LAST_MESSAGE_ID: "getLastMessageId",
    GET_TOPICS_OF_NAMESPACE: "getTopicsOfNamespace",
    GET_SCHEMA: "getSchema",
    NEW_TXN: "newTxn",
    ADD_PARTITION_TO_TXN: "addPartitionToTxn",
    END_TXN: "endTxn",
    TC_CLIENT_CONNECT: "tcClientConnectRequest",
    SCALABLE_TOPIC_LOOKUP: "scalableTopicLookup",
}
ANSWERS = {
    SUCCESS: "success",
    PRODUCER_SUCCESS: "producer_success",
    22: "partitionMetadataResponse",
    24: "lookupTopicResponse",
    30: "getLastMessageIdResponse",
    33: "getTopicsOfNamespaceResponse",
    35: "getSchemaResponse",
    38: "ackResponse",
    51: "newTxnResponse",
    53: "addPartitionToTxnResponse",
    57: "endTxnResponse",
    63: "tcClientConnectResponse",
    71: "scalableTopicUpdate",
}
_SESSIONS = frozenset({SCALABLE_TOPIC_LOOKUP, 71})


def id_field(number: int) -> str:
    """Return the name of the id field that a request of this type and its answer share."""
    return "session_id" if number in _SESSIONS else "request_id"


def frame(command: wire.BaseCommand) -> bytes:
    """Return the frame of a command: `u32 total size, u32 command size, BaseCommand`.

    Neither size includes its own four bytes.
    """
    body = command.SerializeToString()
    return struct.pack(">II", len(body) + 4, len(body)) + body


def signed(number: int) -> int:
    """Convert an unsigned number of the protocol to a signed 64-bit number, in which -1 means "none"."""
    return number - 2**64 if number >= 2**63 else number
