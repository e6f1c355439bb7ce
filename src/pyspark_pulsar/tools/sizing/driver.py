"""The driver's memory, requests and checkpoints, and an executor's memory outside of its heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.tools.sizing.costs import Costs
from pyspark_pulsar.tools.sizing.history import History, ledgers_a_day
from pyspark_pulsar.tools.sizing.quantity import Quantity, quantity, smallest
from pyspark_pulsar.tools.sizing.workload_quantities import SECONDS_A_DAY, WorkloadQuantities

_CHECKS_A_TRIGGER: Final = quantity(16.0, "topic")
"""The largest number of topic partitions for which one trigger requests ledgers.

Up to this limit, the stream requests the ledgers of each topic partition every 600 s. See
`read.planning.ledgers.known_ledgers`.
"""
_CHECK_INTERVAL: Final = quantity(600.0, "s")
_REQUESTS_A_CHECK: Final = quantity(2.0, "request/topic")
_REQUESTS_OF_A_LEDGER: Final = quantity(3.0, "request/ledger")
"""The number of requests that a stream sends when a topic partition has a new ledger.

Two requests return lists of ledgers, and one request returns the location of the previous ledger.
"""
_KEPT: Final = quantity(100.0, "1")
"""The number of micro-batches that Spark keeps (`spark.sql.streaming.minBatchesToRetain`)."""
_WORKER: Final = quantity(float(250 << 20), "B/core")
"""The memory of a Python worker, as in the section Memory of docs/tuning.md."""
_LEAST_HEAP: Final = quantity(float(1 << 30), "B")
"""Spark's default size of a driver's heap."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The resources that the driver needs, and its load on other services."""

    splits: Quantity
    """The number of splits of one plan."""
    ledgers: Quantity
    """The largest number of ledgers that one plan reads."""
    python: Quantity
    """The memory of the driver's Python process, which computes the plans."""
    sent: Quantity
    """The size of a plan in the form that Spark's JVM receives."""
    heap: Quantity
    """The smallest sufficient heap of Spark's JVM on the driver."""
    overhead: Quantity
    """The memory of an executor outside of its heap."""
    plan_requests: Quantity
    """The number of requests to the admin REST API by all plans of the history."""
    plan_answers: Quantity
    """The size of the admin REST API's answers to one plan, in bytes."""
    requests: Quantity
    """The number of requests per second to the admin REST API by a stream that keeps up."""
    objects: Quantity
    """The number of small requests to object storage by all plans of the history."""
    offset: Quantity
    """The size of the offset of one micro-batch."""
    checkpoint: Quantity
    """The size of all offsets that Spark keeps in the checkpoint."""


def driver_of(given: WorkloadQuantities, costs: Costs, history: History) -> Driver:
    """Compute the resources that the driver needs."""
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
    """Return the largest number of ledgers that one plan reads.

    A split reads at most the ledgers that fit into the split, and a part of one further ledger.
    """
    name = "ledgers of a plan"
    if not history.size.value:
        return quantity(0.0, "ledger", name)
    each = quantity(1.0, "ledger/split") + given.split_bytes / (history.size / history.ledgers)
    return smallest(history.ledgers, splits * each).named(name)


def _requests(given: WorkloadQuantities) -> Quantity:
    new = given.topics * ledgers_a_day(given) / SECONDS_A_DAY * _REQUESTS_OF_A_LEDGER
    checks = smallest(given.topics / _CHECK_INTERVAL, _CHECKS_A_TRIGGER / given.trigger) * _REQUESTS_A_CHECK
    return new + checks
