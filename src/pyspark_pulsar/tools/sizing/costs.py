"""The costs of the parts of a workload: committed costs, and costs that were measured on this machine.

The committed costs are part of this package, in `default_costs.json`. The script `bench/sizing.py` measures these
costs, and writes this file together with bench/results/sizing.json.

The module `calibration` measures some of the costs on this machine. All other costs in CPU time are the committed
costs, multiplied by the slowness of this machine. The slowness is a ratio of measured costs to committed costs. For
planning, the slowness is the ratio for `PLANNING`. For other costs, the slowness is the median of all ratios.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from pyspark_pulsar.tools.sizing.quantity import Quantity, quantity
from pyspark_pulsar.tools.sizing.workload import FORMATS

DEFAULTS: Final = "default_costs.json"
_REPORT: Final = "bench/results/sizing.json"

_OF_A_FORMAT: Final = {
    "decode.{}.entry": ("core*s/entry", "to check, unpack and split an entry"),
    "decode.{}.message": ("core*s/message", "to decode a message, without its columns and bytes"),
    "decode.{}.column": ("core*s/message/column", "to decode a column of a message"),
    "decode.{}.byte": ("core*s/B", "to check, unpack and scan a stored byte"),
    "encode.{}.message": ("core*s/message", "to encode a message, without its columns"),
    "encode.{}.column": ("core*s/message/column", "to encode a column of a message"),
}
_OTHERS: Final = {
    "table.message": ("core*s/message", "to read a row of a topic's table in Spark, without its columns"),
    "table.column": ("core*s/message/column", "to read a column of a row of a topic's table"),
    "table.bytes": ("1", "bytes of a topic's table per byte of its ledgers"),
    "spark.message": ("core*s/message", "for Spark and transport, per message"),
    "spark.entry": ("core*s/entry", "for Spark and transport, per entry"),
    "spark.byte": ("core*s/B", "for Spark and transport, per stored byte"),
    "spark.split": ("core*s/topic", "for Spark, Python and connections, per topic of a task"),
    "spark.task": ("core*s/task", "for Spark and Python, per task"),
    "spark.trigger": ("core*s", "for Spark's driver, per micro-batch"),
    "plan.topic": ("core*s/topic/plan", "for the driver, to find a topic partition and request its ledgers"),
    "plan.ledger": ("core*s/ledger/plan", "for the driver, to receive the description of a ledger"),
    "plan.read": ("core*s/ledger", "additionally for the driver, to plan the read of a ledger"),
    "plan.split": ("core*s/split", "for the driver, to create a split and pass it to Spark"),
    "trigger.topic": ("core*s/topic", "for the driver, per topic partition at each trigger"),
    "trigger.active": ("core*s/topic", "for the driver in addition, per topic partition with new messages"),
    "trigger.ledger": ("core*s/ledger", "for the driver, per ledger of a topic partition with new messages"),
    "memory.process": ("B", "memory of the Python process that plans, before it plans"),
    "memory.topic": ("B/topic", "memory of that process, per topic partition"),
    "memory.ledger": ("B/ledger", "memory of that process, per ledger that it receives"),
    "memory.read": ("B/ledger", "additional memory of that process, per ledger that its plan reads"),
    "memory.split": ("B/split", "memory of that process, per split"),
    "sent.split": ("B/split", "size of a split as Spark's JVM receives it"),
    "answers.ledger": ("B/ledger/plan", "answers of the admin REST API, per ledger"),
    "requests.topic": (
        "request/topic/plan",
        "requests to the admin REST API, per topic partition that is read as a whole",
    ),
    "objects.ledger": (
        "object/ledger",
        "small requests to object storage, per offloaded ledger that is read",
    ),
    "offset.topic": ("B/topic", "offset of a stream, per topic partition"),
    "calibration.ledger": (
        "core*s/ledger",
        "to parse the description of a ledger and cut its splits, without a server",
    ),
}
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    **{
        key.format(name): unit_and_meaning
        for name in FORMATS
        for key, unit_and_meaning in _OF_A_FORMAT.items()
    },
    **_OTHERS,
}
"""The unit and the meaning of each cost, by key."""
PLANNING: Final = "calibration.ledger"
"""The key of a cost of planning that can be measured without a server.

The ratio of the measured cost to the committed cost scales all other costs of planning.
"""
_OF_PLANNING: Final = ("plan.", "trigger.")
OF_A_TOPIC: Final = "topic.message"
"""The key of the cost to fetch and decode a message. This cost is measured only if the user names a topic."""
_TOPICS_OWN: Final = ("core*s/message", "to fetch and decode a message of the topic that was measured")
_CPU: Final = "core*s"


@dataclass(frozen=True, slots=True)
class Costs:
    """The value of each cost in `KINDS`. The costs whose keys are in `measured` were measured on this machine."""

    values: Mapping[str, float]
    measured: frozenset[str] = frozenset()
    slowness: Mapping[str, float] = field(default_factory=dict)
    """The factor by which each scaled cost was multiplied, by the key of the cost."""

    def __getitem__(self, key: str) -> Quantity:
        """Return a cost as a quantity whose name is the key. Raises `KeyError` if the key is unknown."""
        return quantity(self.values[key], _kind(key)[0], key, self._source(key))

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def for_format(self, kind: str, name: str, part: str) -> Quantity:
        """Return a cost of a format.

        Args:
            kind: Either `decode` or `encode`.
            name: The name of the format, from `FORMATS`.
            part: The last part of the key: `entry`, `message`, `column` or `byte`.

        """
        return self[f"{kind}.{name}.{part}"]

    def all(self) -> Iterable[tuple[Quantity, str]]:
        """Return each cost with its meaning."""
        return [(self[key], _kind(key)[1]) for key in self.values]

    def _source(self, key: str) -> str:
        if key in self.measured:
            return "measured on this machine"
        if key in self.slowness:
            return f"{_REPORT}, times {self.slowness[key]:.2f}, the ratio measured on this machine"
        return _REPORT


def default_costs() -> Costs:
    """Return the committed costs."""
    return Costs(_committed()["costs"])


def where_measured() -> str:
    """Return a text that names the machine and the day (UTC) on which the committed costs were measured."""
    committed = _committed()
    return f"{committed['machine']}, {str(committed['when'])[:10]}"


def costs_here(measured: Mapping[str, float]) -> Costs:
    """Return the costs of this machine.

    If a cost in CPU time was not measured, its committed value is scaled by the slowness of this machine. Other costs
    have their committed values.
    """
    committed = _committed()["costs"]
    ratios = {
        key: value / committed[key]
        for key, value in measured.items()
        if _is_cpu(key) and committed.get(key, 0.0) > 0 and value > 0
    }
    usual = statistics.median(ratios.values()) if ratios else 1.0
    planning = ratios.get(PLANNING, usual)
    slowness = {
        key: planning if key.startswith(_OF_PLANNING) else usual
        for key in committed
        if _is_cpu(key) and key not in measured
    }
    scaled = {key: value * slowness.get(key, 1.0) for key, value in committed.items()}
    return Costs({**scaled, **measured}, frozenset(measured), slowness)


def _is_cpu(key: str) -> bool:
    return _kind(key)[0].startswith(_CPU)


def _kind(key: str) -> tuple[str, str]:
    return _TOPICS_OWN if key == OF_A_TOPIC else KINDS[key]


def _committed() -> dict[str, Any]:
    text = resources.files("pyspark_pulsar.tools.sizing").joinpath(DEFAULTS).read_text()
    return dict(json.loads(text))
