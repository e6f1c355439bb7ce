"""The messages of the past, and the resources that are needed to read these messages within the wanted time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.tools.sizing.costs import OF_A_TOPIC, Costs
from pyspark_pulsar.tools.sizing.quantity import Quantity, largest, quantity, rounded_up, smallest
from pyspark_pulsar.tools.sizing.workload_quantities import ONE_CORE, SECONDS_A_DAY, WorkloadQuantities, plain

_ADMIN_AT_ONCE: Final = quantity(8.0, "1")
"""The number of concurrent requests of a plan to the admin REST API (`ledgers.topic_ledgers`)."""
_OBJECTS_AT_ONCE: Final = quantity(16.0, "1")
"""The number of concurrent requests of a plan to object storage (`placement.offloaded`)."""
_LEAST_LEDGER: Final = quantity(600.0, "s*topic/ledger")
"""Brokers keep a ledger open for at least 10 minutes (`managedLedgerMinLedgerRolloverTimeMinutes`)."""


@dataclass(frozen=True, slots=True)
class MessageCosts:
    """The CPU time of executors for one message that is read from an entry, or from a table."""

    from_entries: Quantity
    from_tables: Quantity


@dataclass(frozen=True, slots=True)
class History:
    """The messages of the past, and the locations where these messages are stored."""

    messages: Quantity
    size: Quantity
    on_bookies: Quantity
    in_object_storage: Quantity
    in_tables: Quantity
    ledgers: Quantity
    """The number of ledgers that brokers list, including open ledgers."""
    ledgers_offloaded: Quantity
    splits: Quantity
    """The largest number of splits; 0 if there is no history."""
    plans: Quantity


@dataclass(frozen=True, slots=True)
class CatchUp:
    """The figures of reading the whole history while new messages arrive."""

    work: Quantity
    """The CPU time of executors to read the history."""
    planning: Quantity
    """The total time that the driver needs for all plans."""
    new: Quantity
    """The number of cores that the new messages need."""
    cores: Quantity
    """The total number of cores that are needed."""
    bytes_a_second: Quantity
    """The bytes per second that all executors together receive."""
    executors: Quantity
    time: Quantity
    from_bookies: Quantity
    from_object_storage: Quantity
    """The bytes per second from offloaded ledgers and from tables."""
    from_brokers: Quantity


def message_costs(given: WorkloadQuantities, costs: Costs, value_format: str) -> MessageCosts:
    """Return the cost of a message.

    If `costs` contains `OF_A_TOPIC`, this measured cost replaces the costs of decoding.
    """
    written = given.written * (
        costs.for_format("encode", value_format, "message")
        + costs.for_format("encode", value_format, "column") * given.columns
    )
    decoded = costs[OF_A_TOPIC] if OF_A_TOPIC in costs else _decoded(given, costs, value_format)
    spark = (
        costs["spark.message"]
        + costs["spark.entry"] / given.entry_messages
        + costs["spark.byte"] * given.message_bytes
    )
    entries = decoded + spark + written
    tables = costs["table.message"] + costs["table.column"] * given.columns + written
    return MessageCosts(
        entries.named("CPU of a message from entries"), tables.named("CPU of a message from tables")
    )


def _decoded(given: WorkloadQuantities, costs: Costs, value_format: str) -> Quantity:
    def cost(part: str) -> Quantity:
        return costs.for_format("decode", value_format, part)

    return (
        cost("entry") / given.entry_messages
        + cost("message")
        + cost("column") * given.columns
        + cost("byte") * given.message_bytes
    )


def mean_rate(given: WorkloadQuantities) -> Quantity:
    """Return the mean number of messages a second."""
    return (given.messages_a_day / SECONDS_A_DAY).named("messages a second")


def ledgers_a_day(given: WorkloadQuantities) -> Quantity:
    """Return the number of ledgers per topic partition and day.

    A broker closes a ledger at the first limit that the ledger reaches: time, entries or bytes.
    """
    one = given.messages_a_day / given.topics
    by_time = SECONDS_A_DAY / given.ledger_time
    by_entries = one / given.entry_messages / given.ledger_entries
    by_bytes = one * given.message_bytes / given.ledger_bytes
    most = SECONDS_A_DAY / _LEAST_LEDGER
    return smallest(most, largest(by_time, by_entries, by_bytes)).named("ledgers a topic a day")


def history_of(given: WorkloadQuantities, costs: Costs) -> History:
    """Return the size of the history, its locations and its splits."""
    messages = (given.messages_a_day * given.days).named("messages of the history")
    size = (messages * given.message_bytes).named("bytes of the history")
    on_bookies = largest(plain(0.0), plain(1.0) - given.in_object_storage - given.in_columns)
    in_ledgers = plain(1.0) - given.in_columns
    a_day = ledgers_a_day(given)
    open_ledgers = given.topics * quantity(1.0, "ledger/topic")
    ledgers = (given.topics * a_day * given.days * in_ledgers + open_ledgers).named("ledgers")
    offloaded = given.topics * a_day * given.days * given.in_object_storage
    splits = _splits(given, size, ledgers)
    return History(
        messages,
        size,
        (size * on_bookies).named("on bookies"),
        (size * given.in_object_storage).named("ledgers in object storage"),
        (size * given.in_columns * costs["table.bytes"]).named("tables in object storage"),
        ledgers,
        offloaded.named("offloaded ledgers"),
        splits,
        rounded_up(splits / given.batch_tasks).named("plans"),
    )


def _splits(given: WorkloadQuantities, size: Quantity, ledgers: Quantity) -> Quantity:
    """Return the largest number of splits.

    Each topic partition begins a new split. The last split of a large ledger can be smaller than the others. A split
    that combines small ledgers is at least half full.
    """
    if not size.value:
        return quantity(0.0, "split", "most splits")
    full = size / given.split_bytes
    of_topics = given.topics * quantity(1.0, "split/topic")
    of_ledgers = ledgers * quantity(1.0, "split/ledger")
    return (of_topics + full + smallest(of_ledgers, full)).named("most splits")


def catch_up_of(given: WorkloadQuantities, costs: Costs, history: History, message: MessageCosts) -> CatchUp:
    """Return the resources that are needed to catch up.

    Raises `OptionError` if planning alone takes longer than the time in which the query must catch up.
    """
    work = _work(given, costs, history, message)
    planning = planning_time(given, costs, history)
    if planning.value >= given.catch_up.value:
        raise OptionError(
            f"catch_up_hours: expected more than the {planning.value / 3600:.2f} hours of planning alone, got "
            f"{given.catch_up.value / 3600:g} hours; read larger splits (split_bytes, the option "
            f"maxBytesPerPartition), allow more splits in a plan (batch_tasks), or read a shorter history"
        )
    left = given.catch_up - planning
    new = (mean_rate(given) * message.from_entries).named("cores for new messages")
    cores = ((work / left + new) / given.utilization).named("cores to catch up")
    live = (mean_rate(given) * given.message_bytes).named("from brokers during catch-up")
    on_bookies = (history.on_bookies / left).named("from bookies")
    objects = ((history.in_object_storage + history.in_tables) / left).named("from object storage")
    incoming = (on_bookies + objects + live).named("bytes into executors")
    executors = largest(
        rounded_up(cores / given.executor_cores),
        rounded_up(incoming / given.executor_network),
        quantity(1.0, "executor"),
    ).named("executors to catch up")
    usable = executors * given.executor_cores * given.utilization - new
    free = executors * given.executor_network - live
    stored = history.on_bookies + history.in_object_storage + history.in_tables
    duration = (planning + largest(work / usable, stored / free)).named("time to catch up")
    return CatchUp(work, planning, new, cores, incoming, executors, duration, on_bookies, objects, live)


def _work(given: WorkloadQuantities, costs: Costs, history: History, message: MessageCosts) -> Quantity:
    in_ledgers = history.messages * (plain(1.0) - given.in_columns)
    in_tables = history.messages * given.in_columns
    tasks = history.splits * quantity(1.0, "task/split") * costs["spark.task"]
    work = in_ledgers * message.from_entries + in_tables * message.from_tables + tasks
    return work.named("CPU to read the history")


def planning_time(given: WorkloadQuantities, costs: Costs, history: History) -> Quantity:
    """Return the total time of all plans: the driver's time to compute, plus its time to wait for answers."""
    own = (
        history.plans * (given.topics * costs["plan.topic"] + history.ledgers * costs["plan.ledger"])
        + history.ledgers * costs["plan.read"]
        + history.splits * costs["plan.split"]
    )
    waiting = history.plans * given.topics * costs["requests.topic"] * given.admin_time / _ADMIN_AT_ONCE
    opened = history.ledgers_offloaded * costs["objects.ledger"] * given.object_time / _OBJECTS_AT_ONCE
    return (own / ONE_CORE + waiting + opened).named("time to plan")
