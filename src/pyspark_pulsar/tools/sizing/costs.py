"""What things cost: the committed costs, and those that were measured where they are used.

The committed ones lie in `default_costs.json`, which `bench/sizing.py` writes together with bench/results/sizing.json.
A machine that measures (`calibration`) measures some. Of the rest, those that are time of a CPU are the committed ones
times how long that machine takes beside the other: of planning as `PLANNING` says, else the median of all ratios.
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
    "decode.{}.entry": ("core*s/entry", "to check, unpack and take apart an entry"),
    "decode.{}.message": ("core*s/message", "to decode a message, but for its columns and bytes"),
    "decode.{}.column": ("core*s/message/column", "to decode a column of a message"),
    "decode.{}.byte": ("core*s/B", "to check, unpack and pass over a stored byte"),
    "encode.{}.message": ("core*s/message", "to encode a message that is written, but for its columns"),
    "encode.{}.column": ("core*s/message/column", "to encode a column of a message"),
}
_OTHERS: Final = {
    "table.message": ("core*s/message", "to read a row of a topic's table, in Spark, but for its columns"),
    "table.column": ("core*s/message/column", "to read a column of such a row"),
    "table.bytes": ("1", "bytes of a topic's table, for each byte of its ledgers"),
    "spark.message": ("core*s/message", "of Spark and transport, for a message"),
    "spark.entry": ("core*s/entry", "of Spark and transport, for an entry"),
    "spark.byte": ("core*s/B", "of Spark and transport, for a stored byte"),
    "spark.split": ("core*s/topic", "of Spark, Python and connections, for one topic of a task"),
    "spark.task": ("core*s/task", "of Spark and Python, for a task"),
    "spark.trigger": ("core*s", "of Spark's driver, for a micro-batch"),
    "plan.topic": ("core*s/topic/plan", "of the driver, to find a topic partition and ask for its ledgers"),
    "plan.ledger": ("core*s/ledger/plan", "of the driver, to be told of a ledger"),
    "plan.read": ("core*s/ledger", "of the driver beside that, to plan the read of a ledger"),
    "plan.split": ("core*s/split", "of the driver, to make a split and hand it to Spark"),
    "trigger.topic": ("core*s/topic", "of the driver, for a topic partition at each trigger"),
    "trigger.active": ("core*s/topic", "of the driver, for one with news beside that"),
    "trigger.ledger": ("core*s/ledger", "of the driver, for each ledger of one with news"),
    "memory.process": ("B", "of the Python process that plans, before it plans"),
    "memory.topic": ("B/topic", "of that process, for a topic partition"),
    "memory.ledger": ("B/ledger", "of that process, for a ledger that it is told of"),
    "memory.read": ("B/ledger", "of that process beside that, for a ledger that its plan reads"),
    "memory.split": ("B/split", "of that process, for a split"),
    "sent.split": ("B/split", "of a split as Spark's JVM gets it"),
    "answers.ledger": ("B/ledger/plan", "of the admin REST API's answers, for a ledger"),
    "requests.topic": (
        "request/topic/plan",
        "to the admin REST API, for a topic partition of which all is read",
    ),
    "objects.ledger": (
        "object/ledger",
        "small requests to object storage, for an offloaded ledger that is read",
    ),
    "offset.topic": ("B/topic", "of a stream's offset, for a topic partition"),
    "calibration.ledger": ("core*s/ledger", "to read a ledger's lines and cut it, without a server"),
}
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    **{key.format(name): told for name in FORMATS for key, told in _OF_A_FORMAT.items()},
    **_OTHERS,
}
"""Of each cost its unit and its meaning."""
PLANNING: Final = "calibration.ledger"
"""What a machine can measure of planning without a server; costs of planning are scaled by it."""
_OF_PLANNING: Final = ("plan.", "trigger.")
OF_A_TOPIC: Final = "topic.message"
"""Measured of the reader's own topic only: to fetch and decode one of its messages."""
_TOPICS_OWN: Final = ("core*s/message", "to fetch and decode a message of the topic that was measured")
_CPU: Final = "core*s"


@dataclass(frozen=True, slots=True)
class Costs:
    """All of `KINDS`; those of `measured` were measured here."""

    values: Mapping[str, float]
    measured: frozenset[str] = frozenset()
    slowness: Mapping[str, float] = field(default_factory=dict)
    """By key: how many times the committed cost it is, of those that were scaled."""

    def __getitem__(self, key: str) -> Quantity:
        """Named like its key. Raises `KeyError`."""
        return quantity(self.values[key], _kind(key)[0], key, self._source(key))

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def of_format(self, kind: str, name: str, part: str) -> Quantity:
        """`kind`: decode or encode; `name`: the format."""
        return self[f"{kind}.{name}.{part}"]

    def all(self) -> Iterable[tuple[Quantity, str]]:
        """Each with its meaning."""
        return [(self[key], _kind(key)[1]) for key in self.values]

    def _source(self, key: str) -> str:
        if key in self.measured:
            return "measured on this machine"
        if key in self.slowness:
            return f"{_REPORT}, times {self.slowness[key]:.2f}, by what was measured on this machine"
        return _REPORT


def default_costs() -> Costs:
    """The committed ones."""
    return Costs(_committed()["costs"])


def where_measured() -> str:
    """The machine of the committed costs, and the day (UTC)."""
    told = _committed()
    return f"{told['machine']}, {str(told['when'])[:10]}"


def costs_here(measured: Mapping[str, float]) -> Costs:
    """The committed costs with those that were measured on this machine."""
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
