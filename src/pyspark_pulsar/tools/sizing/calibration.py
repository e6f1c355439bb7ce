"""Measurement of the costs of messages on this machine, without a server and without Spark.

A cost is the CPU time of one thread. Each cost is the smallest result of several calls.

Runs with four kinds of entries determine the costs of a message, a column, a byte and an entry. Each of the last three
kinds differs from `plain` in one property:

    run      messages an entry   columns   a text's bytes   measures the cost of
    plain    1000                2         12               a message
    wide     1000                14        12               a column
    large    1000                2         600              a byte
    single   1                   2         12               an entry

A result below zero is noise, and is replaced by zero.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.client.broker.connection.transport import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.read.planning.ledgers.ledger_range import ledger_ranges
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import parse_ledgers
from pyspark_pulsar.read.planning.splits.packing import Limits, PartitionRange, cut
from pyspark_pulsar.schema.info import SchemaInfo
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.tools.sizing.costs import PLANNING
from pyspark_pulsar.tools.sizing.entries import (
    TOPIC,
    encode_entries,
    encode_only,
    encoder_of,
    made_up_bytes,
    made_up_rows,
    schema_of_rows,
)
from pyspark_pulsar.tools.sizing.workload import FORMATS

_NARROW, _WIDE = 2, 14
_SHORT, _LONG = 12, 600
_BATCHED: Final = 1000
_LEAST_RUNS: Final = 3
_PUSHED_AT_ONCE: Final = 16
_LEDGERS: Final = 2000
_LEDGER_ENTRIES, _LEDGER_BYTES = 50_000, 150 << 20


@dataclass(frozen=True, slots=True)
class _MessageCost:
    """The CPU seconds and the stored bytes per message, for one kind of entries."""

    cpu: float
    size: float


def measure_costs(seconds: float = 20.0) -> dict[str, float]:
    """Measure the costs of decoding, of encoding and of planning. Return them by their keys in `costs.KINDS`.

    `seconds` is the approximate duration.
    """
    measured: dict[str, float] = {}
    # There are four runs of decoding and two runs of encoding for each format, and one run of planning. Each run begins
    # with a warm-up call.
    share = seconds / (6 * len(FORMATS) + 1) / 1.3
    for kind in FORMATS:
        measured |= _decoding(kind, share) | _encoding(kind, share)
    return measured | {PLANNING: _planning(share)}


def _decoding(kind: str, seconds: float) -> dict[str, float]:
    plain = _decode_cost(kind, _NARROW, _SHORT, _BATCHED, seconds)
    wide = plain if kind == "BYTES" else _decode_cost(kind, _WIDE, _SHORT, _BATCHED, seconds)
    large = _decode_cost(kind, _NARROW, _LONG, _BATCHED, seconds)
    single = _decode_cost(kind, _NARROW, _SHORT, 1, seconds)
    byte = max(0.0, (large.cpu - plain.cpu) / (large.size - plain.size))
    column = max(0.0, (wide.cpu - plain.cpu - byte * (wide.size - plain.size)) / (_WIDE - _NARROW))
    entry = max(0.0, (single.cpu - plain.cpu - byte * (single.size - plain.size)) / (1 - 1 / _BATCHED))
    message = max(0.0, plain.cpu - byte * plain.size - column * _NARROW - entry / _BATCHED)
    return {
        f"decode.{kind}.entry": entry,
        f"decode.{kind}.message": message,
        f"decode.{kind}.column": column,
        f"decode.{kind}.byte": byte,
    }


def _encoding(kind: str, seconds: float) -> dict[str, float]:
    narrow = _encode_run(kind, _NARROW, seconds)
    wide = narrow if kind == "BYTES" else _encode_run(kind, _WIDE, seconds)
    column = max(0.0, (wide - narrow) / (_WIDE - _NARROW))
    return {
        f"encode.{kind}.message": max(0.0, narrow - column * _NARROW),
        f"encode.{kind}.column": column,
    }


def _decode_cost(kind: str, columns: int, text_bytes: int, messages: int, seconds: float) -> _MessageCost:
    rows = 2000 if messages == 1 else 10 * messages
    batch = (
        made_up_bytes(rows, 2 * text_bytes) if kind == "BYTES" else made_up_rows(rows, columns, text_bytes)
    )
    info = schema_of_rows(kind, columns)
    entries = encode_entries(encoder_of(batch, info, messages), batch)
    cpu = least_cpu(lambda: decode(entries, info), seconds)
    return _MessageCost(cpu / rows, sum(map(len, entries)) / rows)


def decode(entries: list[bytes], info: SchemaInfo | None) -> int:
    """Decode all value columns of the entries, and return the number of rows."""
    schema = resolve_read_schema(info, topic=TOPIC, columns=["*"])
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: info)
    rows = 0
    for start in range(0, len(entries), _PUSHED_AT_ONCE):
        pushed = EntryBatch()
        for number, entry in enumerate(entries[start : start + _PUSHED_AT_ONCE], start):
            pushed.push(1, number, entry)
        rows += sum(int(batch.num_rows) for batch in decoder.decode(pushed))
    return rows + sum(int(batch.num_rows) for batch in decoder.finish())


def _encode_run(kind: str, columns: int, seconds: float) -> float:
    rows = 10 * _BATCHED
    batch = made_up_bytes(rows, 2 * _SHORT) if kind == "BYTES" else made_up_rows(rows, columns, _SHORT)
    encoder = encoder_of(batch, schema_of_rows(kind, columns), _BATCHED)
    return least_cpu(lambda: encode_only(encoder, batch), seconds) / rows


def _planning(seconds: float) -> float:
    """Return the CPU seconds per ledger to parse the answers of the admin REST API and to cut the splits."""
    info, stats = (json.dumps(answer) for answer in _answers())
    partition = TopicPartition(TopicName.parse(TOPIC), -1)
    limits = Limits(64 << 20)

    def plan() -> int:
        known = parse_ledgers(json.loads(info), json.loads(stats), TOPIC)
        start, end = Position(1, 0), Position(_LEDGERS, _LEDGER_ENTRIES)
        ranges = tuple(ledger_ranges(known.ledgers, start, end))
        return len(cut([PartitionRange(partition, start, end, ranges)], limits))

    return least_cpu(plan, seconds) / _LEDGERS


def _answers() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the admin REST API's answers `internal-info` and `internalStats` for a topic with many ledgers."""
    hour = 3_600_000
    info = [
        {
            "ledgerId": number,
            "entries": _LEDGER_ENTRIES,
            "size": _LEDGER_BYTES,
            "timestamp": number * hour,
            "isOffloaded": False,
        }
        for number in range(1, _LEDGERS)
    ]
    stats = [
        {
            "ledgerId": number,
            "entries": _LEDGER_ENTRIES,
            "size": _LEDGER_BYTES,
            "offloaded": False,
            "underReplicated": False,
        }
        for number in range(1, _LEDGERS)
    ]
    last = {"ledgerId": _LEDGERS, "timestamp": _LEDGERS * hour, "isOffloaded": False}
    open_one = {"ledgerId": _LEDGERS, "entries": 0, "size": 0, "offloaded": False, "underReplicated": False}
    topic = {
        "currentLedgerEntries": _LEDGER_ENTRIES,
        "currentLedgerSize": _LEDGER_BYTES,
        "state": "LedgerOpened",
        "cursors": {},
        "compactedLedger": {"ledgerId": -1, "entries": -1, "size": -1},
    }
    return {"version": 1, "ledgers": [*info, last]}, {"ledgers": [*stats, open_one], **topic}


def least_cpu(work: Callable[[], object], seconds: float) -> float:
    """Return the smallest CPU time of at least three calls, in seconds, after a warm-up call.

    The calls run in this thread, and are repeated until `seconds` have passed.
    """
    work()
    durations: list[float] = []
    ends = time.monotonic() + seconds
    while len(durations) < _LEAST_RUNS or time.monotonic() < ends:
        began = time.thread_time()
        work()
        durations.append(time.thread_time() - began)
    return min(durations)
