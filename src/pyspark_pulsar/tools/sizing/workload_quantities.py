"""Conversion of a workload to quantities with the names that formulas show."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from pyspark_pulsar.tools.sizing.quantity import Quantity, quantity
from pyspark_pulsar.tools.sizing.workload import Workload

_HOUR: Final = 3600.0
_GIGABIT: Final = 1e9 / 8

_NAMED: Final[dict[str, tuple[str, str, float]]] = {
    # Each field of `Workload` maps to its name in formulas, its unit, and the factor that converts to this unit.
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
    "ledger_hours": ("age limit of a ledger", "s*topic/ledger", _HOUR),
    "ledger_entries": ("entry limit of a ledger", "entry/ledger", 1.0),
    "ledger_bytes": ("size limit of a ledger", "B/ledger", 1.0),
    "split_bytes": ("bytes of a split", "B/split", 1.0),
    "batch_tasks": ("split limit of a plan", "split/plan", 1.0),
    "admin_seconds": ("time of the admin REST API to answer", "s/request", 1.0),
    "object_seconds": ("time of object storage to answer", "s/object", 1.0),
}


@dataclass(frozen=True, slots=True)
class WorkloadQuantities:
    """The numbers of a workload as quantities, in base units such as bytes and seconds."""

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
        """Return all quantities, in the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))


def workload_quantities(workload: Workload) -> WorkloadQuantities:
    """Convert a workload to quantities in base units."""
    return WorkloadQuantities(
        *(
            quantity(getattr(workload, field) * factor, unit, name, f"--{field.replace('_', '-')}")
            for field, (name, unit, factor) in _NAMED.items()
        )
    )


ONE_CORE: Final = quantity(1.0, "core")
SECONDS_A_DAY: Final = quantity(86_400.0, "s/day")


def plain(value: float) -> Quantity:
    """Return a number without a unit."""
    return quantity(value, "1")
