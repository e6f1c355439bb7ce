"""The topic partitions that a stream reads, and their present ends. Driver only.

At each trigger, in this order:

    step      result                                             requests to
    topics    the topic partitions that exist, and the layouts   broker, admin REST API
              of scalable topics; from then on, the end of a
              sealed segment does not move
    starts    the query's positions, moved past entries that     the tables' catalog
              are no longer in ledgers
    ends      the end of each partition, from a cursor at its    broker
              start
    tables    the end of the partition's table, if that is       the tables' catalog
              later: brokers may have removed the entries
    schemas   an error for a new topic that the query cannot     broker
              read; the ends were requested before, so the
              schema of each message before them is registered
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.model.topic_layout import TopicLayout
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.cursor_requests import Positions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.microbatch.ends.readable_ends import ReadableEnds
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.topics.schemas import SchemaWatch
from pyspark_pulsar.read.microbatch.topics.stream_topics import TopicWatch
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.schema.read_schema import ReadSchema


@dataclass(frozen=True, slots=True)
class PresentEnds:
    """The ends of all topic partitions that exist."""

    positions: Positions
    layouts: tuple[TopicLayout, ...] = ()
    """The layouts of scalable topics, as they were just before the ends were requested."""


class TopicEnds:
    """A lookup of the ends at each trigger. Used by one thread."""

    def __init__(
        self,
        options: ReadOptions,
        schema: ReadSchema,
        client: BrokerClient,
        topics: TopicWatch,
        log_ends: LogEnds,
        readable_ends: ReadableEnds,
        planner: SplitPlanner,
    ) -> None:
        """Store the parts of one query, which closes them itself.

        `schema` is the schema that the query started with.
        """
        self._topics = topics
        self._log_ends = log_ends
        self._readable_ends = readable_ends
        self._planner = planner
        self._schemas = SchemaWatch(schema, client.schema, skips_bad_rows=options.mode != "FAILFAST")
        self._is_new = True

    def look_up(self, former: StreamOffset, *, is_repeated: bool) -> PresentEnds:
        """Return the present ends.

        Args:
            former: The last offset of the query.
            is_repeated: The argument `is_repeated` of `LogEnds.present_ends`.

        Raises:
            PulsarError: For the same reasons as `TopicWatch.present`, `LogEnds.present_ends`, `SchemaWatch.check` and
                `KnownTables.refresh`.

        """
        present = self._topics.present()
        if self._is_new:
            self._is_new = False
            self._planner.request_early(present.partitions)
        starts = self._planner.skip_tables(self._readable_ends.skip_unseen(former.positions, former))
        visible = self._log_ends.present_ends(present.partitions, starts, is_repeated=is_repeated)
        ends = self._planner.skip_tables(visible)
        self._readable_ends.observe(former.positions, ends)
        self._schemas.check(present.topics)
        return PresentEnds(ends, present.layouts)
