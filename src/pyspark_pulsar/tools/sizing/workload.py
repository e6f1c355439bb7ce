"""What a user says of topics, messages, time and machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError

FORMATS: Final = ("AVRO", "JSON", "PROTOBUF_NATIVE", "BYTES")
"""Kinds of values that have costs of their own; `BYTES` is what has no schema."""

GIBIBYTE: Final = 2**30
_MOST: Final = 1e18
_LEAST: Final = 1e-6
"""Of what may be 0; numbers between divide to what no float holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """All topics are taken to be alike, and messages to come evenly through the day, but for `peak`.

    Raises `OptionError` for what is no load: negative numbers, shares above 1, a millionth of a message a day.
    """

    topics: float
    """Topic partitions."""
    messages_a_day: float
    """Of all topics together."""
    message_bytes: float
    """Stored, so compressed, with the message's part of its entry; the mean."""
    entry_messages: float = 10.0
    """Messages that a producer puts into one entry; the mean."""
    format: str = "AVRO"
    columns: float = 10.0
    """That a query reads."""
    days: float = 0.0
    """Of history that is to be read."""
    in_object_storage: float = 0.0
    """The share of the history whose ledgers are offloaded."""
    in_columns: float = 0.0
    """The share of the history that topics' tables hold. The rest lies on bookies."""
    written: float = 0.0
    """Messages that are written back to Pulsar, for each one that is read."""
    catch_up_hours: float = 24.0
    """In which the history is to be read."""
    trigger_seconds: float = 10.0
    """From the begin of one micro-batch to the begin of the next."""
    peak: float = 2.0
    """The busiest seconds beside the mean of the day."""
    executor_cores: float = 4.0
    executor_gigabits: float = 10.0
    """What an executor's network takes in, in 10^9 bits a second."""
    utilization: float = 0.7
    """The share of cores and of the time between triggers that may be planned with."""
    ledger_hours: float = 4.0
    """After which brokers begin a ledger (`managedLedgerMaxLedgerRolloverTimeMinutes`)."""
    ledger_entries: float = 50_000.0
    """After which they do (`managedLedgerMaxEntriesPerLedger`)."""
    ledger_bytes: float = 2.0 * GIBIBYTE
    """After which they do (`managedLedgerMaxSizePerLedgerMbytes`)."""
    split_bytes: float = 64.0 * 2**20
    """Option `maxBytesPerPartition` of the read of the history."""
    batch_tasks: float = 100_000.0
    """Most splits that one plan of the history may have; it is read in as many batches as that needs."""
    admin_seconds: float = 0.05
    """In which the admin REST API answers a question about a topic partition; it opens each of its ledgers for one."""
    object_seconds: float = 0.03
    """In which object storage answers a small request."""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise OptionError(f"format: expected one of {', '.join(FORMATS)}, got {self.format!r}")
        for name in ("topics", "message_bytes", "entry_messages", "columns", "executor_cores", "peak"):
            _check(name, getattr(self, name), least=1.0)
        for name in ("batch_tasks", "split_bytes", "ledger_entries", "ledger_bytes"):
            _check(name, getattr(self, name), least=1.0)
        for name in ("admin_seconds", "object_seconds"):
            _check(name, getattr(self, name), least=0.0)
        for name in ("messages_a_day", "days", "written"):
            _check(name, getattr(self, name), least=_LEAST, or_none=True)
        for name in ("catch_up_hours", "trigger_seconds", "executor_gigabits", "ledger_hours"):
            _check(name, getattr(self, name), least=1e-3)
        _check("utilization", self.utilization, least=0.01, most=1.0)
        for name in ("in_object_storage", "in_columns"):
            _check(name, getattr(self, name), least=_LEAST, most=1.0, or_none=True)
        together = self.in_object_storage + self.in_columns
        if together > 1.0 + 1e-9:
            raise OptionError(
                f"in_object_storage and in_columns: expected shares of at most 1 together, got {together:g}; what the "
                f"tables hold need not be offloaded too"
            )


def _check(name: str, value: float, *, least: float, most: float = _MOST, or_none: bool = False) -> None:
    if not least <= value <= most and not (or_none and value == 0.0):
        kind = "0, or a number" if or_none else "a number"
        raise OptionError(f"{name}: expected {kind} from {least:g} to {most:g}, got {value:g}")
