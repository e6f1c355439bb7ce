"""A writer that does not stop: numbered messages under keys, by the official client, into partitions that are added
while it runs.

The topics must have the broker's deduplication on: what the client sends anew after it lost a broker is then kept once,
and with a client that never gives up every message gets a receipt.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pulsar as official
from soak.sink import Sent

_TICK_SECONDS: Final = 0.2
_KEYS: Final = 5
_IN_A_TICK: Final = {"batched": 20, "single": 5}
_PAYLOAD: Final = "x" * 150
_NEW_TRY_SECONDS: Final = 0.5
_LOG_LINES: Final = 60


@dataclass
class _Line:
    """One producer of a topic partition, and the next number under each of its keys."""

    producer: official.Producer
    name: str
    in_a_tick: int
    turn: int = 0
    answered: int = 0
    next_numbers: Counter[str] = field(default_factory=Counter)

    @property
    def unanswered(self) -> int:
        return self.next_numbers.total() - self.answered

    def next_message(self) -> tuple[str, int]:
        key = f"{self.name} {self.turn % _KEYS}"
        self.turn += 1
        number = self.next_numbers[key]
        self.next_numbers[key] += 1
        return key, number


class Writer:
    """Use as a thread: `start`, `add`, at last `finish`."""

    def __init__(self, service_url: str, log: Path) -> None:
        logger = official.FileLogger(official.LoggerLevel.Warn, str(log))
        self._log = log
        self._client = official.Client(service_url, operation_timeout_seconds=15, logger=logger)
        self._lines: list[_Line] = []
        self._added: list[str] = []
        self._refused: list[tuple[str, int]] = []
        self.receipts = 0
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, partitions: list[str]) -> None:
        """Write to these topic partitions from now on, given by full name."""
        self._added += partitions

    def finish(self, seconds: float) -> Sent:
        """Stop sending, and wait for the last receipts, which needs a broker. Call once."""
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
        """With the end of the client's log, which says what became of a producer's connection."""
        waiting = {line.name: line.unanswered for line in self._lines if line.unanswered}
        log = "\n".join(self._log.read_text().splitlines()[-_LOG_LINES:])
        return f"messages with neither a receipt nor an error: {waiting}\n{log}"

    def _run(self) -> None:
        while not self._halt.is_set():
            begin = time.monotonic()
            while self._added and not self._halt.is_set():
                self._open(self._added.pop(0))
            for line in self._lines:
                for _ in range(line.in_a_tick):
                    self._send(line)
            self._halt.wait(max(0.0, begin + _TICK_SECONDS - time.monotonic()))

    def _open(self, partition: str) -> None:
        """Both producers of a partition, whatever becomes of brokers meanwhile."""
        for kind, in_a_tick in _IN_A_TICK.items():
            name = f"{partition.rpartition('/')[2]} {kind}"
            producer = self._create(partition, name, batched=kind == "batched")
            if producer is not None:
                self._lines.append(_Line(producer, name, in_a_tick))

    def _create(self, partition: str, name: str, *, batched: bool) -> official.Producer | None:
        while not self._halt.is_set():
            try:
                return self._client.create_producer(
                    partition,
                    producer_name=name,
                    # Without one, the client (3.13) counts anew when its first connection breaks before the first
                    # receipt, under numbers that wait to be sent again: the broker then takes new messages for
                    # repeated ones, confirms them, and drops them. Its binding takes 0 for none.
                    initial_sequence_id=1,
                    send_timeout_millis=0,
                    batching_enabled=batched,
                    batching_max_messages=20,
                    compression_type=official.CompressionType.LZ4,
                    block_if_queue_full=True,
                )
            except official.exceptions.PulsarException:
                self._halt.wait(_NEW_TRY_SECONDS)
        return None

    def _send(self, line: _Line) -> None:
        key, number = line.next_message()

        # Called on the client's own thread, of which there is one.
        def answered(result: official.Result, _: object) -> None:
            line.answered += 1
            if result == official.Result.Ok:
                self.receipts += 1
            else:
                self._refused.append((key, number))

        line.producer.send_async(f"{number} {_PAYLOAD}".encode(), answered, partition_key=key)
