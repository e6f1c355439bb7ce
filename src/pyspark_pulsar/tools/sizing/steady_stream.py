"""The figures of a stream that keeps up: the cost of each trigger, the number of cores at the peak, and the lag."""

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
    """The figures of a stream at its peak."""

    rate: Quantity
    from_brokers: Quantity
    """The bytes per second that all executors together receive."""
    messages: Quantity
    """The number of messages of one micro-batch."""
    active: Quantity
    """The number of topic partitions with new messages at a trigger."""
    tasks: Quantity
    driver: Quantity
    """The CPU time of the driver for one micro-batch."""
    work: Quantity
    """The CPU time of executors for one micro-batch."""
    left: Quantity
    """The part of the trigger interval that is left for executors."""
    cores: Quantity
    executors: Quantity
    duration: Quantity
    """The duration of one micro-batch."""
    mean_lag: Quantity
    most_lag: Quantity
    lag_messages: Quantity
    """The largest lag in messages."""


def steady_stream(
    given: WorkloadQuantities, costs: Costs, history: History, message: MessageCosts
) -> SteadyStream:
    """Compute the figures of a stream.

    Raises `OptionError` if the trigger interval is too short for the work of the driver.
    """
    rate = (mean_rate(given) * given.peak).named("messages a second at the peak")
    incoming = (rate * given.message_bytes).named("from brokers at the peak")
    messages = (rate * given.trigger).named("messages of a micro-batch")
    entries = messages / given.entry_messages
    active = (given.topics * share_hit(entries, given.topics)).named("topics with new messages")
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
            f"trigger_seconds: expected more than {least:.2f} s, got {given.trigger.value:g} s, because the driver "
            f"alone needs {driver.value:.2f} s for a micro-batch over {given.topics.value:,.0f} topics; use a longer "
            f"interval"
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
    most = (given.trigger + duration).named("largest lag")
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
        (rate * most).named("largest lag in messages"),
    )


def _tasks(size: Quantity, active: Quantity) -> Quantity:
    """Return the number of tasks of a micro-batch, by the rules of `read.planning.splits.tasks`."""
    opened = active * quantity(float(OPEN_BYTES), "B/topic")
    by_size = (opened + size) / quantity(float(TASK_BYTES), "B/task")
    each = active * quantity(1.0, "task/topic")
    return smallest(each, largest(quantity(float(LEAST_TASKS), "task"), by_size)).named(
        "tasks of a micro-batch"
    )
