"""A stream that keeps up: what each trigger costs, the cores that it needs at its peak, and its lag."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.read.planning.splits.tasks import LEAST_TASKS, OPEN_BYTES, TASK_BYTES
from pyspark_pulsar.tools.sizing.costs import Costs
from pyspark_pulsar.tools.sizing.history import History, MessageCosts, mean_rate
from pyspark_pulsar.tools.sizing.quantity import Quantity, largest, quantity, rounded_up, share_hit, smallest
from pyspark_pulsar.tools.sizing.workload_quantities import ONE_CORE, WorkloadQuantities, plain


@dataclass(frozen=True, slots=True)
class SteadyStream:
    """At the peak."""

    rate: Quantity
    from_brokers: Quantity
    """Bytes a second, into all executors together."""
    messages: Quantity
    """Of a micro-batch."""
    active: Quantity
    """Topic partitions with news at a trigger."""
    tasks: Quantity
    driver: Quantity
    """CPU of the driver for a micro-batch."""
    work: Quantity
    """CPU of executors for it."""
    left: Quantity
    """Time of a trigger that executors may take."""
    cores: Quantity
    executors: Quantity
    duration: Quantity
    """Of a micro-batch."""
    mean_lag: Quantity
    most_lag: Quantity
    behind: Quantity
    """Messages, at most."""


def steady_stream(
    given: WorkloadQuantities, costs: Costs, history: History, message: MessageCosts
) -> SteadyStream:
    """Raises `OptionError` for a trigger interval that is too short for what the driver does at each trigger."""
    rate = (mean_rate(given) * given.peak).named("messages a second at the peak")
    incoming = (rate * given.message_bytes).named("from brokers at the peak")
    messages = (rate * given.trigger).named("messages of a micro-batch")
    entries = messages / given.entry_messages
    active = (given.topics * share_hit(entries, given.topics)).named("topics with news")
    tasks = _tasks(messages * given.message_bytes, active)
    driver = (
        given.topics * costs["trigger.topic"]
        + active * (costs["trigger.active"] + history.ledgers / given.topics * costs["trigger.ledger"])
        + costs["spark.trigger"]
    ).named("CPU of the driver for a micro-batch")
    work = (
        messages * message.from_entries + active * costs["spark.split"] + tasks * costs["spark.task"]
    ).named("CPU of executors for a micro-batch")
    left = (given.trigger * given.utilization - driver / ONE_CORE).named("time left for executors")
    if left.value <= 0:
        least = driver.value / given.utilization.value
        raise OptionError(
            f"trigger_seconds: expected more than {least:.2f}, since the driver alone needs {driver.value:.2f} s for a "
            f"micro-batch over {given.topics.value:,.0f} topics, got {given.trigger.value:g}"
        )
    cores = (work / left).named("cores to keep up")
    executors = largest(
        rounded_up(cores / given.executor_cores),
        rounded_up(incoming / given.executor_network),
        quantity(1.0, "executor"),
    ).named("executors to keep up")
    duration = (driver / ONE_CORE + work / (executors * given.executor_cores)).named(
        "duration of a micro-batch"
    )
    most = (given.trigger + duration).named("most lag")
    return SteadyStream(
        rate,
        incoming,
        messages,
        active,
        tasks,
        driver,
        work,
        left,
        cores,
        executors,
        duration,
        (given.trigger / plain(2.0) + duration).named("mean lag"),
        most,
        (rate * most).named("most messages behind"),
    )


def _tasks(size: Quantity, active: Quantity) -> Quantity:
    """As `read.planning.splits.tasks` puts splits together."""
    opened = active * quantity(float(OPEN_BYTES), "B/topic")
    by_size = (opened + size) / quantity(float(TASK_BYTES), "B/task")
    each = active * quantity(1.0, "task/topic")
    return smallest(each, largest(quantity(float(LEAST_TASKS), "task"), by_size)).named(
        "tasks of a micro-batch"
    )
