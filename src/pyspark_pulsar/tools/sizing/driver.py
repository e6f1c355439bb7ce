"""The driver's memory, requests and checkpoints, and an executor's memory beside its heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.tools.sizing.costs import Costs
from pyspark_pulsar.tools.sizing.history import History, ledgers_a_day
from pyspark_pulsar.tools.sizing.quantity import Quantity, quantity, smallest
from pyspark_pulsar.tools.sizing.workload_quantities import SECONDS_A_DAY, WorkloadQuantities

_CHECKS_A_TRIGGER: Final = quantity(16.0, "topic")
"""The number of topic partitions whose ledgers a trigger requests; each is due every 600 s.

See `read.planning.ledgers.known_ledgers`.
"""
_CHECK_INTERVAL: Final = quantity(600.0, "s")
_REQUESTS_A_CHECK: Final = quantity(2.0, "request/topic")
_REQUESTS_OF_A_LEDGER: Final = quantity(3.0, "request/ledger")
"""Requests of a stream that reaches a new ledger: two lists, and the location of the old ledger."""
_KEPT: Final = quantity(100.0, "1")
"""The number of micro-batches that Spark keeps (`spark.sql.streaming.minBatchesToRetain`)."""
_WORKER: Final = quantity(float(250 << 20), "B/core")
"""Memory of a Python worker: docs/tuning.md, Memory."""
_LEAST_HEAP: Final = quantity(float(1 << 30), "B")
"""Spark's default for the heap of a driver."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The needs of the driver, and the load that it puts on others."""

    splits: Quantity
    """Splits of one plan."""
    ledgers: Quantity
    """The largest number of ledgers that one plan reads."""
    python: Quantity
    """Memory of the Python process that plans."""
    sent: Quantity
    """Size of a plan as Spark's JVM receives it."""
    heap: Quantity
    """Smallest heap of that JVM."""
    overhead: Quantity
    """Memory of an executor beside its heap."""
    plan_requests: Quantity
    """Requests to the admin REST API by all plans of the history."""
    plan_answers: Quantity
    """Bytes of the answers to one plan."""
    requests: Quantity
    """Requests a second to the admin REST API by a stream that keeps up."""
    objects: Quantity
    """Small requests to object storage by all plans of the history."""
    offset: Quantity
    """Size of the offset of one micro-batch."""
    checkpoint: Quantity
    """Size of all offsets that Spark keeps."""


def driver_of(given: WorkloadQuantities, costs: Costs, history: History) -> Driver:
    """Return the needs of the driver."""
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
    sent = (splits * costs["sent.split"]).named("size of a plan in Spark")
    offset = (given.topics * costs["offset.topic"]).named("offset of a micro-batch")
    return Driver(
        splits,
        read,
        python.named("memory of the driver's Python"),
        sent,
        (_LEAST_HEAP + sent).named("smallest spark.driver.memory"),
        (given.executor_cores * _WORKER * quantity(1.0, "executor")).named("spark.executor.memoryOverhead"),
        (history.plans * given.topics * costs["requests.topic"]).named("admin requests by plans"),
        (history.ledgers * costs["answers.ledger"] * one_plan).named("admin answers to a plan"),
        _requests(given).named("admin requests a second"),
        (history.ledgers_offloaded * costs["objects.ledger"]).named("requests to object storage by plans"),
        offset,
        (offset * _KEPT).named("checkpoint's offsets"),
    )


def _read_by_a_plan(given: WorkloadQuantities, history: History, splits: Quantity) -> Quantity:
    """Return the ledgers of a plan: a split reads no more ledgers than fit into it, and part of one more."""
    name = "ledgers of a plan"
    if not history.size.value:
        return quantity(0.0, "ledger", name)
    each = quantity(1.0, "ledger/split") + given.split_bytes / (history.size / history.ledgers)
    return smallest(history.ledgers, splits * each).named(name)


def _requests(given: WorkloadQuantities) -> Quantity:
    new = given.topics * ledgers_a_day(given) / SECONDS_A_DAY * _REQUESTS_OF_A_LEDGER
    checks = smallest(given.topics / _CHECK_INTERVAL, _CHECKS_A_TRIGGER / given.trigger) * _REQUESTS_A_CHECK
    return new + checks
