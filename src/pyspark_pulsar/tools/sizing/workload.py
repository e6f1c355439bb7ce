"""The user's description of topics, messages, time and machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError

FORMATS: Final = ("AVRO", "JSON", "PROTOBUF_NATIVE", "BYTES")
"""The formats of values that have separate costs. `BYTES` is for topics without schema."""

GIBIBYTE: Final = 2**30
_MOST: Final = 1e18
_LEAST: Final = 1e-6
"""The smallest allowed number other than 0, so that quotients stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A load of equal topics. Messages are assumed to arrive evenly through the day, except for `peak`.

    Raises `OptionError` for an impossible load, such as negative numbers or shares above 1.
    """

    topics: float
    """The number of topic partitions."""
    messages_a_day: float
    """The number of messages per day, for all topics together."""
    message_bytes: float
    """The mean stored size of a message in bytes, after compression, including the message's share of its entry."""
    entry_messages: float = 10.0
    """The mean number of messages that a producer puts into one entry."""
    format: str = "AVRO"
    columns: float = 10.0
    """The number of columns that a query reads."""
    days: float = 0.0
    """The number of days of history to read."""
    in_object_storage: float = 0.0
    """The share of the history whose ledgers are offloaded."""
    in_columns: float = 0.0
    """The share of the history in topics' tables. History that is neither in tables nor offloaded is on bookies."""
    written: float = 0.0
    """The number of messages that are written back to Pulsar for each message that is read."""
    catch_up_hours: float = 24.0
    """The wanted time to read the history, in hours."""
    trigger_seconds: float = 10.0
    """The time from the start of one micro-batch to the start of the next."""
    peak: float = 2.0
    """The rate of the busiest seconds, relative to the mean of the day."""
    executor_cores: float = 4.0
    executor_gigabits: float = 10.0
    """The incoming network bandwidth of an executor, in 10^9 bits a second."""
    utilization: float = 0.7
    """The largest share of the cores, and of the time between triggers, that the estimate uses."""
    ledger_hours: float = 4.0
    """The age at which brokers close a ledger (`managedLedgerMaxLedgerRolloverTimeMinutes`)."""
    ledger_entries: float = 50_000.0
    """The number of entries at which brokers close a ledger (`managedLedgerMaxEntriesPerLedger`)."""
    ledger_bytes: float = 2.0 * GIBIBYTE
    """The size at which brokers close a ledger (`managedLedgerMaxSizePerLedgerMbytes`)."""
    split_bytes: float = 64.0 * 2**20
    """The option `maxBytesPerPartition` for reading the history."""
    batch_tasks: float = 100_000.0
    """The largest number of splits of one plan. The history is read in as many batches as necessary."""
    admin_seconds: float = 0.05
    """The time in which the admin REST API answers a request about a topic partition.

    To answer such a request, the broker opens each ledger of the topic partition.
    """
    object_seconds: float = 0.03
    """The time in which object storage answers a small request."""

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
                f"in_object_storage and in_columns: expected shares of at most 1 together, got {together:g}; do not "
                f"count ledgers as offloaded if their messages are in the tables"
            )


def _check(name: str, value: float, *, least: float, most: float = _MOST, or_none: bool = False) -> None:
    if not least <= value <= most and not (or_none and value == 0.0):
        kind = "0, or a number" if or_none else "a number"
        raise OptionError(f"{name}: expected {kind} from {least:g} to {most:g}, got {value:g}")
