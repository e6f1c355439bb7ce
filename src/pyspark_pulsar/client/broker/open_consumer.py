"""The common part of `EntryConsumer` and `Cursor`: the state of an open consumer, and its commands.

Protocol: CommandFlow, CommandAck, CommandGetLastMessageId, CommandCloseConsumer.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark_pulsar.client.broker.connection.commands import (
    ACK,
    CLOSE_CONSUMER,
    FLOW,
    GET_LAST_MESSAGE_ID,
    frame,
    signed,
)
from pyspark_pulsar.client.broker.connection.connection import Connection, await_answer
from pyspark_pulsar.client.wire import commands_pb2 as wire
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.runtime import threading

_CUMULATIVE: Final = 1


class OpenConsumer:
    """A consumer that is open on a broker, and the `Listener` for the consumer's commands on the connection.

    The connection's receiving thread calls `on_command` and `on_closed`. One other thread calls the other methods.
    """

    def __init__(self, connection: Connection, consumer_id: int, where: str, request_seconds: float) -> None:
        """Store the arguments, without sending a command.

        Args:
            connection: The connection to the topic's broker.
            consumer_id: The id of the consumer on this connection.
            where: The topic, or the subscription and the topic, for error messages.
            request_seconds: The timeout of a request, in seconds.

        """
        self.connection = connection
        self.consumer_id = consumer_id
        self._where = where
        self._request_seconds = request_seconds
        self._changed = threading.Condition()
        self._failure: ConnectionFailed | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the consumer is usable.

        A consumer becomes unusable if the connection ends, or if the broker closes the consumer. A broker closes a
        consumer if the topic moves, or if the subscription or the topic is deleted.
        """
        return self._failure is None and self.connection.is_open

    def on_command(self, command: wire.BaseCommand) -> None:
        if command.type == CLOSE_CONSUMER:
            self.on_closed(
                ConnectionFailed(
                    f"{self._where}: the broker closed the consumer, usually because the topic is moving to another "
                    f"broker"
                )
            )

    def on_closed(self, reason: ConnectionFailed) -> None:
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    def add_permits(self, messages: int) -> None:
        """Allow the broker to send `messages` more messages (FLOW)."""
        flow = wire.CommandFlow(consumer_id=self.consumer_id, messagePermits=messages)
        self.connection.send_bytes(frame(wire.BaseCommand(type=FLOW, flow=flow)))

    def close(self, wait_seconds: float = 0.0) -> None:
        """Close the consumer. A lost connection or a missing answer raises no error.

        Args:
            wait_seconds: Maximum time to wait for the broker's answer, in seconds. An exclusive subscription refuses
                another consumer until the broker has closed this consumer.

        """
        self.connection.remove_consumer(self.consumer_id)
        if not self.is_open:
            return
        request = wire.CommandCloseConsumer(consumer_id=self.consumer_id, request_id=0)
        closing = f"closing the consumer of {self._where}"
        try:
            answer = self.connection.submit(
                wire.BaseCommand(type=CLOSE_CONSUMER, close_consumer=request), closing
            )
            if wait_seconds > 0:
                await_answer(answer, closing, wait_seconds)
        except ConnectionFailed:
            return

    def _last_message_request(self) -> wire.BaseCommand:
        request = wire.CommandGetLastMessageId(consumer_id=self.consumer_id, request_id=0)
        return wire.BaseCommand(type=GET_LAST_MESSAGE_ID, getLastMessageId=request)

    def _acknowledgement(self, position: Position, **request: int) -> wire.BaseCommand:
        """Return the command that acknowledges all entries before the entry of `position`.

        The broker answers only if `request` contains a `request_id`.
        """
        # Before the first entry of a ledger, the entry id is -1. The protocol contains -1 as an unsigned number.
        passed = wire.MessageIdData(ledgerId=position.ledger, entryId=(position.entry - 1) % 2**64)
        ack = wire.CommandAck(
            consumer_id=self.consumer_id, ack_type=_CUMULATIVE, message_id=[passed], **request
        )
        return wire.BaseCommand(type=ACK, ack=ack)


def mark_delete_position(answer: Any) -> Position | None:
    """Return the first position that a cursor has not passed, from an answer to CommandGetLastMessageId.

    Returns:
        `EARLIEST` for a cursor that has passed no message. The result is None if the broker does not report
        positions of cursors.

    """
    if not answer.HasField("consumer_mark_delete_position"):
        return None
    marked = answer.consumer_mark_delete_position
    ledger, entry = signed(marked.ledgerId), signed(marked.entryId)
    return EARLIEST if ledger < 0 else Position(ledger, entry + 1)
