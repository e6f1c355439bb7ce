"""The plan of a batch read. The reader runs the plan, and commands show it to users. Driver only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.client_pool import pooled_client
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST, FROM_LATEST
from pyspark_pulsar.read.bounds.offsets import check_reachable, resolve_bound
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.starts import QueryStarts
from pyspark_pulsar.read.bounds.timestamps import resolve_windows
from pyspark_pulsar.read.bounds.topic_wait import present_topics
from pyspark_pulsar.read.bounds.topics import discover_partitions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.planning.ledgers.data_loss import check_removed
from pyspark_pulsar.read.planning.partition_plan import PartitionPlan, splits_of, with_ledgers
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.planning.splits.tasks import tasks_of
from pyspark_pulsar.read.split import Split

Narrow = Callable[[Sequence[RangeRequest]], Sequence[RangeRequest]]
"""A function that removes partitions, positions and times that a query does not use. The function never adds any."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The plan of a batch read, which does not change."""

    partitions: tuple[PartitionPlan, ...]
    tasks: tuple[tuple[Split, ...], ...]
    """The splits of each Spark task, in the order of `splits`."""
    notes: tuple[str, ...] = ()
    """The logged reasons why ranges are not read from the expected locations."""

    @property
    def splits(self) -> list[Split]:
        """The splits of all topic partitions, in the order of positions."""
        return splits_of(self.partitions)


def plan_batch(
    options: ReadOptions,
    narrow: Narrow | None = None,
    *,
    is_shown: bool = False,
    fails_fast: bool = False,
) -> BatchPlan:
    """Plan a read: resolve its bounds now, and divide it into splits.

    Before the range is divided, brokers confirm that this role may consume every topic partition.

    Args:
        options: The options of the read.
        narrow: Removes partitions, positions and times that the query does not use.
        is_shown: Whether the plan is for display. A plan for display contains all ledgers that this role may list, even
            ledgers that the plan does not need.
        fails_fast: Whether an unreachable broker fails the plan within seconds (`BrokerClient.for_planning`). Use true
            if a user waits for the plan. With false, planning waits for a broker that restarts. A query uses false,
            because its analysis has already reached the broker.

    Raises:
        OptionError: The bounds in the options do not fit the topics.
        TopicNotFoundError: A topic does not exist.
        ConnectionFailed: No broker can be reached.
        PulsarError: For the same reasons as `SplitPlanner.plan`.

    """
    with _client(options, fails_fast=fails_fast) as client, admin_client(options) as admin:
        planner = SplitPlanner(options, client, admin)
        requests: Sequence[RangeRequest] = _range_requests(options, client, admin, planner)
        if narrow is not None:
            requests = narrow(requests)
        plans = planner.plan(requests)
        if is_shown and admin is not None:
            plans = with_ledgers(admin, plans)
        tasks = tasks_of(options, splits_of(plans), fewer_of_tiny=True)
        return BatchPlan(tuple(plans), tuple(tasks), planner.notes)


def ranges_now(options: ReadOptions) -> list[RangeRequest]:
    """Return the range of each topic partition that a batch read would have if it was planned now.

    The function fails within seconds if no broker can be reached. The errors of `plan_batch` are raised.
    """
    with _client(options, fails_fast=True) as client, admin_client(options) as admin:
        return _range_requests(options, client, admin, SplitPlanner(options, client, admin))


def _range_requests(
    options: ReadOptions, client: BrokerClient, admin: AdminClient | None, planner: SplitPlanner
) -> list[RangeRequest]:
    options.check_read_from()
    options.check_batch()
    partitions = discover_partitions(client, present_topics(client, options))
    planner.request_early(partitions)
    windows = resolve_windows(options, partitions)
    with closing(
        LogEnds(client, admin, read_compacted=options.read_compacted, starts_at_first=True)
    ) as log_ends:
        # If all ledgers of a topic were removed, brokers may report an end before the end of the topic's table.
        present = planner.skip_tables(log_ends.ends(partitions))
        reachable = log_ends.reachable(present)
        starts = QueryStarts(options, client, admin, log_ends).find_starts(
            options.starting_offsets or FROM_EARLIEST, partitions, present
        )
        if options.behind_table is not None:
            starts = planner.skip_tables(starts)
        ends = resolve_bound("endingOffsets", options.ending_offsets or FROM_LATEST, partitions, present)
        check_reachable("startingOffsets", starts, reachable)
        check_reachable("endingOffsets", ends, reachable)
        # For all other partitions, the planner reports losses from the list of ledgers, with more details.
        chosen = {
            partition: start
            for partition, start in starts.items()
            if EARLIEST < start < ends[partition] and (admin is None or partition.is_segment)
        }
        check_removed(chosen, log_ends.removed(chosen), fail=options.fail_on_data_loss)
        firsts = log_ends.firsts()
    return [
        RangeRequest(
            partition, starts[partition], ends[partition], windows[partition], first=firsts.get(partition)
        )
        for partition in partitions
    ]


def _client(options: ReadOptions, *, fails_fast: bool) -> AbstractContextManager[BrokerClient]:
    return BrokerClient.for_planning(options) if fails_fast else pooled_client(options)


@contextmanager
def admin_client(options: ReadOptions) -> Iterator[AdminClient | None]:
    """Open the admin client of a read, and close it at the end of the block. Yield None if `admin.url` is not set."""
    if options.admin_url is None:
        yield None
        return
    with AdminClient.for_planning(options) as admin:
        yield admin
