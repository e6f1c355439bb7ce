"""The connections and parts of one streaming query, in its driver process. Driver only."""

from __future__ import annotations

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.starts import QueryStarts
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.microbatch.admission.limits import MicroBatches
from pyspark_pulsar.read.microbatch.checked_plan import CheckedPlanner
from pyspark_pulsar.read.microbatch.ends.passed_ledgers import PassedLedgers
from pyspark_pulsar.read.microbatch.ends.readable_ends import ReadableEnds
from pyspark_pulsar.read.microbatch.ends.stream_end import StreamEnd
from pyspark_pulsar.read.microbatch.goal import StreamGoal
from pyspark_pulsar.read.microbatch.progress.query_progress import QueryProgress
from pyspark_pulsar.read.microbatch.topic_ends import TopicEnds
from pyspark_pulsar.read.microbatch.topics.checkpoint_topics import CheckpointTopics
from pyspark_pulsar.read.microbatch.topics.stream_topics import TopicWatch
from pyspark_pulsar.read.microbatch.trigger import Trigger
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.schema.read_schema import ReadSchema


class StreamQuery:
    """The parts of a query, created at Spark's first call that needs a broker.

    The parts exist until the query stops.
    """

    def __init__(self, options: ReadOptions, schema: ReadSchema, run: str) -> None:
        """Create the admin client if `admin.url` is set. Connections to brokers are opened at first use."""
        # A query and its tasks wait equally long for a broker that does not answer.
        patience_ms = max(options.operation_timeout_ms, options.poll_timeout_ms)
        self._client = client = BrokerClient(options, patience_ms)
        self._admin = admin = (
            AdminClient.for_planning(options, patience_ms) if options.admin_url is not None else None
        )
        planner = SplitPlanner(options, client, admin)
        topics = TopicWatch(client, admin, options)
        log_ends = LogEnds(client, admin, read_compacted=options.read_compacted)
        self.readable_ends = ReadableEnds(options)
        self.checkpoint_topics = CheckpointTopics(options, topics.deleted)
        starts = QueryStarts(options, client, admin, log_ends)
        self.end = StreamEnd(options)
        goal = StreamGoal(options, starts, self.checkpoint_topics, self.end, log_ends, planner)
        self._micro_batches = MicroBatches.with_tables(options, planner, planner.tables)
        self.trigger = Trigger(
            run,
            TopicEnds(options, schema, client, topics, log_ends, self.readable_ends, planner),
            goal,
            self.end,
            self._micro_batches,
            PassedLedgers(options, client, log_ends, self.readable_ends, planner),
        )
        self.progress = QueryProgress(options, client, planner.ledgers)
        self.planner = CheckedPlanner(
            options, log_ends, self.readable_ends, planner, self.progress.retained_from
        )

    def close(self) -> None:
        self._micro_batches.close()
        self.progress.close()
        self.end.close()
        self.readable_ends.close()
        self._client.close()
        if self._admin is not None:
            self._admin.close()
