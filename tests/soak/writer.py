"""A writer that sends numbered messages with keys by the official client, without a stop, also to new partitions.

The topics must have the broker's deduplication on. It drops messages that the client repeats after it lost a broker.
A message without a receipt after two minutes counts as uncertain, and a new producer replaces the message's producer.
The reason is the client (3.13): after a broker was suspended, one of the client's producers hung forever.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import pulsar as official
from integration.official import end_of_client_log, open_client
from soak.sink import Sent

_TICK_SECONDS: Final = 0.2
_KEYS: Final = 5
_IN_A_TICK: Final = {"batched": 20, "single": 5}
_PAYLOAD: Final = "x" * 150
_NEW_TRY_SECONDS: Final = 0.5
_RECEIPT_SECONDS: Final = 120.0


@dataclass
class _Line:
    """A producer of a topic partition, and the next number for each of its keys."""

    producer: official.Producer
    partition: str
    kind: str
    replaced: int = 0
    """The number of earlier producers, which were replaced."""
    is_stuck: bool = False
    turn: int = 0
    answered: int = 0
    next_numbers: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return _name(self.partition, self.kind)

    @property
    def unanswered(self) -> int:
        return self.next_numbers.total() - self.answered

    def next_message(self) -> tuple[str, int]:
        key = f"{self.name} {self.turn % _KEYS}"
        self.turn += 1
        number = self.next_numbers[key]
        self.next_numbers[key] += 1
        return key, number


def _name(partition: str, kind: str) -> str:
    return f"{partition.rpartition('/')[2]} {kind}"


class Writer:
    """A thread that writes messages. Call `start`, then `add` for new partitions, and `finish` at the end."""

    def __init__(self, service_url: str) -> None:
        self._client = open_client(service_url, operation_timeout_seconds=15)
        self._lines: list[_Line] = []
        self._added: list[str] = []
        self._refused: list[tuple[str, int]] = []
        self.receipts = 0
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, partitions: list[str]) -> None:
        """Start to write to these topic partitions, which are full names."""
        self._added += partitions

    def finish(self, seconds: float) -> Sent:
        """Stop sending, and wait for the last receipts. A broker must be running. Call this method once."""
        self._halt.set()
        self._thread.join(seconds)
        give_up = time.monotonic() + seconds
        while self._unanswered() and time.monotonic() < give_up:
            time.sleep(0.05)
        counts = {key: count for line in self._lines for key, count in line.next_numbers.items()}
        assert not self._unanswered(), self._what_waits()
        self._client.close()
        return Sent(counts, frozenset(self._refused))

    def _unanswered(self) -> int:
        return sum(line.unanswered for line in self._lines)

    def _what_waits(self) -> str:
        """Return a text with the unconfirmed messages, and the end of the client's log, which explains the reason."""
        waiting = {line.name: line.unanswered for line in self._lines if line.unanswered}
        return f"messages with neither a receipt nor an error: {waiting}\n{end_of_client_log()}"

    def _run(self) -> None:
        while not self._halt.is_set():
            begin = time.monotonic()
            while self._added and not self._halt.is_set():
                self._open(self._added.pop(0))
            for line in self._lines:
                if line.is_stuck:
                    self._replace(line)
                for _ in range(_IN_A_TICK[line.kind]):
                    self._send(line)
            self._halt.wait(max(0.0, begin + _TICK_SECONDS - time.monotonic()))

    def _open(self, partition: str) -> None:
        """Open both producers of a partition. Retry until this succeeds or the writer finishes."""
        for kind in _IN_A_TICK:
            producer = self._create(partition, kind, 0)
            if producer is not None:
                self._lines.append(_Line(producer, partition, kind))

    def _replace(self, line: _Line) -> None:
        """Replace the producer by a producer with a new name. The broker has no sequence ids for the new name."""
        with contextlib.suppress(official.exceptions.PulsarException):
            line.producer.close()
        producer = self._create(line.partition, line.kind, line.replaced + 1)
        if producer is not None:
            line.producer, line.replaced, line.is_stuck = producer, line.replaced + 1, False

    def _create(self, partition: str, kind: str, replaced: int) -> official.Producer | None:
        while not self._halt.is_set():
            try:
                return self._client.create_producer(
                    partition,
                    producer_name=f"{_name(partition, kind)} {replaced}",
                    # Without an initial id, the client (3.13) restarts its count when its first connection breaks
                    # before the first receipt. Messages with the same numbers still wait to be sent again. The broker
                    # then treats new messages as repeated ones, confirms them, and drops them. The client's binding
                    # treats 0 as no initial id.
                    initial_sequence_id=1,
                    send_timeout_millis=int(_RECEIPT_SECONDS * 1000),
                    batching_enabled=kind == "batched",
                    batching_max_messages=20,
                    compression_type=official.CompressionType.LZ4,
                    block_if_queue_full=True,
                )
            except official.exceptions.PulsarException:
                self._halt.wait(_NEW_TRY_SECONDS)
        return None

    def _send(self, line: _Line) -> None:
        key, number = line.next_message()

        # The client calls this on its single thread.
        def answered(result: official.Result, _: object) -> None:
            line.answered += 1
            if result == official.Result.Ok:
                self.receipts += 1
            else:
                self._refused.append((key, number))
                line.is_stuck = True

        line.producer.send_async(f"{number} {_PAYLOAD}".encode(), answered, partition_key=key)
