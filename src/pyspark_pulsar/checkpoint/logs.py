"""The two logs of a checkpoint: opening them, making them, and telling new ones from those that lost what they had."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.checkpoint.address import CheckpointName
from pyspark_pulsar.checkpoint.clients import CALL_SECONDS, Cluster
from pyspark_pulsar.checkpoint.content.chunk_locations import ChunkLocations
from pyspark_pulsar.checkpoint.content.content_reader import ContentReader
from pyspark_pulsar.checkpoint.content.inline_bodies import InlineBodies
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.log import IndexLog
from pyspark_pulsar.checkpoint.messages.writer import LogWriter
from pyspark_pulsar.checkpoint.refusals import not_there
from pyspark_pulsar.client.broker.subscribe import subscribe
from pyspark_pulsar.errors import CheckpointLost
from pyspark_pulsar.model.topic import TopicPartition


@dataclass(frozen=True, slots=True)
class Logs:
    """The two logs of a checkpoint that exists."""

    index: IndexLog
    index_partition: TopicPartition
    content_writer: LogWriter
    content_partition: TopicPartition
    content: ContentReader
    inline: InlineBodies
    chunk_locations: ChunkLocations

    def close(self) -> None:
        self.index.close()
        self.content_writer.close()
        self.content.close()


def open_logs(cluster: Cluster, name: CheckpointName, deadline: Deadline, *, create: bool) -> Logs:
    """Raises `CheckpointPathNotFound` where there is none, unless it is to be made; `CheckpointLost` for content
    without an index."""
    content = cluster.partition(name.content)
    index = cluster.partition(name.index)
    if index is None and content is not None and _has_content(cluster, content):
        raise CheckpointLost(
            f"{name}: expected its index {name.index}, got none, although {content} has content: the "
            f"topic of the index was deleted; restore the checkpoint from a copy, or delete it (pyspark-pulsar "
            f"checkpoint rm)"
        )
    if index is not None and content is None and not create:
        # Made a moment ago, or left by a crash before the first record; or deleted, which chunks will tell.
        content = TopicPartition(name.content, index.index)
    if create:
        content = content or cluster.partition(name.content, create=True)
        index = index or cluster.partition(name.index, create=True)
    if index is None or content is None:
        raise not_there(str(name))
    chunk_locations = ChunkLocations(cluster, content)
    writer = LogWriter(cluster.new_client(), index.name, CALL_SECONDS)
    content_writer = LogWriter(cluster.new_client(), content.name, CALL_SECONDS)
    if create:
        try:
            # A producer makes a topic that is missing, and its keeper, before there is anything to keep.
            content_writer.open(deadline)
            writer.open(deadline)
        except BaseException:
            content_writer.close()
            writer.close()
            raise
    log = IndexLog(cluster.new_client(), writer, index.name)
    return Logs(
        index=log,
        index_partition=index,
        content_writer=content_writer,
        content_partition=content,
        content=ContentReader(chunk_locations),
        inline=InlineBodies(cluster, index, log),
        chunk_locations=chunk_locations,
    )


def _has_content(cluster: Cluster, content: TopicPartition) -> bool:
    with cluster.borrowed() as client:

        def attempt() -> bool:
            consumer = subscribe(client, content.name, None)
            try:
                return not consumer.end().is_earliest
            finally:
                consumer.close()

        return client.retrying(attempt)


def was_emptied(cluster: Cluster, logs: Logs) -> bool:
    """Of an index without a record: whether one was written, or is being written now."""
    return logs.index.writer.was_exclusive() or _has_content(cluster, logs.content_partition)


def emptied(name: CheckpointName, logs: Logs) -> CheckpointLost:
    return CheckpointLost(
        f"{name}: expected a FORMAT record in {logs.index_partition}, which was written once, got an empty topic: its "
        f"messages were removed, by a truncation, message TTL, backlog eviction or a subscription that was moved or "
        f"deleted; restore the checkpoint from a copy (pyspark-pulsar checkpoint copy), or delete it to begin anew "
        f"(pyspark-pulsar checkpoint rm)"
    )
