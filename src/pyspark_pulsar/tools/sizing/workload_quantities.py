"""A workload as quantities, under the names that formulas call them by."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from pyspark_pulsar.tools.sizing.quantity import Quantity, quantity
from pyspark_pulsar.tools.sizing.workload import Workload

_HOUR: Final = 3600.0
_GIGABIT: Final = 1e9 / 8

_NAMED: Final[dict[str, tuple[str, str, float]]] = {
    # of `Workload`: what formulas call it, in which unit, and how many of that unit one is
    "topics": ("topics", "topic", 1.0),
    "messages_a_day": ("messages a day", "message/day", 1.0),
    "message_bytes": ("bytes a message", "B/message", 1.0),
    "entry_messages": ("messages an entry", "message/entry", 1.0),
    "columns": ("columns", "column", 1.0),
    "days": ("days of history", "day", 1.0),
    "in_object_storage": ("share in object storage", "1", 1.0),
    "in_columns": ("share in columns", "1", 1.0),
    "written": ("written back", "1", 1.0),
    "catch_up_hours": ("wanted time to catch up", "s", _HOUR),
    "trigger_seconds": ("trigger interval", "s", 1.0),
    "peak": ("peak", "1", 1.0),
    "executor_cores": ("cores of an executor", "core/executor", 1.0),
    "executor_gigabits": ("network of an executor", "B/s/executor", _GIGABIT),
    "utilization": ("utilization", "1", 1.0),
    "ledger_hours": ("time of a ledger", "s*topic/ledger", _HOUR),
    "ledger_entries": ("most entries of a ledger", "entry/ledger", 1.0),
    "ledger_bytes": ("most bytes of a ledger", "B/ledger", 1.0),
    "split_bytes": ("bytes of a split", "B/split", 1.0),
    "batch_tasks": ("most splits of a plan", "split/plan", 1.0),
    "admin_seconds": ("admin's time to answer", "s/request", 1.0),
    "object_seconds": ("object storage's time to answer", "s/object", 1.0),
}


@dataclass(frozen=True, slots=True)
class WorkloadQuantities:
    """Each is a number of the workload's, in base units: bytes, seconds."""

    topics: Quantity
    messages_a_day: Quantity
    message_bytes: Quantity
    entry_messages: Quantity
    columns: Quantity
    days: Quantity
    in_object_storage: Quantity
    in_columns: Quantity
    written: Quantity
    catch_up: Quantity
    trigger: Quantity
    peak: Quantity
    executor_cores: Quantity
    executor_network: Quantity
    utilization: Quantity
    ledger_time: Quantity
    ledger_entries: Quantity
    ledger_bytes: Quantity
    split_bytes: Quantity
    batch_tasks: Quantity
    admin_time: Quantity
    object_time: Quantity

    def all(self) -> tuple[Quantity, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))


def workload_quantities(workload: Workload) -> WorkloadQuantities:
    return WorkloadQuantities(
        *(
            quantity(getattr(workload, field) * factor, unit, name, f"--{field.replace('_', '-')}")
            for field, (name, unit, factor) in _NAMED.items()
        )
    )


ONE_CORE: Final = quantity(1.0, "core")
SECONDS_A_DAY: Final = quantity(86_400.0, "s/day")


def plain(value: float) -> Quantity:
    """A number without a unit."""
    return quantity(value, "1")
