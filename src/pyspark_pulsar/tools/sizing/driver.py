"""The driver: what it holds, what it asks, what a checkpoint takes; and an executor's memory beside its heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.tools.sizing.costs import Costs
from pyspark_pulsar.tools.sizing.history import History, ledgers_a_day
from pyspark_pulsar.tools.sizing.quantity import Quantity, quantity, smallest
from pyspark_pulsar.tools.sizing.workload_quantities import SECONDS_A_DAY, WorkloadQuantities

_LOOKS_AT_A_TRIGGER: Final = quantity(16.0, "topic")
"""`read.planning.ledgers.known_ledgers`: so many topic partitions at a trigger, each every 600 s."""
_LOOK_AGAIN: Final = quantity(600.0, "s")
_REQUESTS_OF_A_LOOK: Final = quantity(2.0, "request/topic")
_REQUESTS_OF_A_LEDGER: Final = quantity(3.0, "request/ledger")
"""When a stream comes to a new ledger: two lists, and where the old one lies."""
_KEPT: Final = quantity(100.0, "1")
"""Micro-batches that Spark keeps (`spark.sql.streaming.minBatchesToRetain`)."""
_WORKER: Final = quantity(float(250 << 20), "B/core")
"""docs/tuning.md, Memory."""
_LEAST_HEAP: Final = quantity(float(1 << 30), "B")
"""What Spark's drivers have when nobody says it."""


@dataclass(frozen=True, slots=True)
class Driver:
    """Its needs, and what it asks of others."""

    splits: Quantity
    """Of one plan."""
    ledgers: Quantity
    """That one plan reads, at most."""
    python: Quantity
    """Memory of the process that plans."""
    sent: Quantity
    """A plan as Spark's JVM gets it."""
    heap: Quantity
    """Of that JVM, at least."""
    overhead: Quantity
    """Of an executor, beside its heap."""
    plan_requests: Quantity
    """To the admin REST API, by all plans of the history."""
    plan_answers: Quantity
    """Bytes of the answers of one plan."""
    requests: Quantity
    """To the admin REST API, a second, by a stream that keeps up."""
    objects: Quantity
    """Small requests to object storage, by all plans of the history."""
    offset: Quantity
    """Of one micro-batch."""
    checkpoint: Quantity
    """All that Spark keeps of them."""


def driver_of(given: WorkloadQuantities, costs: Costs, history: History) -> Driver:
    one_plan = quantity(1.0, "plan")
    splits = smallest(history.splits, given.batch_tasks * one_plan).named("splits of a plan")
    read = _read_by_a_plan(given, history, splits)
    python = (
        costs["memory.process"]
        + given.topics * costs["memory.topic"]
        + history.ledgers * costs["memory.ledger"]
        + read * costs["memory.read"]
        + splits * costs["memory.split"]
    )
    sent = (splits * costs["sent.split"]).named("a plan as Spark gets it")
    offset = (given.topics * costs["offset.topic"]).named("offset of a micro-batch")
    return Driver(
        splits,
        read,
        python.named("memory of the driver's Python"),
        sent,
        (_LEAST_HEAP + sent).named("least spark.driver.memory"),
        (given.executor_cores * _WORKER * quantity(1.0, "executor")).named("spark.executor.memoryOverhead"),
        (history.plans * given.topics * costs["requests.topic"]).named("requests to admin by plans"),
        (history.ledgers * costs["answers.ledger"] * one_plan).named("answers of admin to a plan"),
        _requests(given).named("requests to admin a second"),
        (history.ledgers_offloaded * costs["objects.ledger"]).named("requests to object storage by plans"),
        offset,
        (offset * _KEPT).named("checkpoint's offsets"),
    )


def _read_by_a_plan(given: WorkloadQuantities, history: History, splits: Quantity) -> Quantity:
    """A split reads no more ledgers than fit into it, and a part of one more."""
    name = "ledgers of a plan"
    if not history.size.value:
        return quantity(0.0, "ledger", name)
    each = quantity(1.0, "ledger/split") + given.split_bytes / (history.size / history.ledgers)
    return smallest(history.ledgers, splits * each).named(name)


def _requests(given: WorkloadQuantities) -> Quantity:
    new = given.topics * ledgers_a_day(given) / SECONDS_A_DAY * _REQUESTS_OF_A_LEDGER
    looks = smallest(given.topics / _LOOK_AGAIN, _LOOKS_AT_A_TRIGGER / given.trigger) * _REQUESTS_OF_A_LOOK
    return new + looks
