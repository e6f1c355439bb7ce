"""Opening and creating the two logs of a checkpoint, and detecting a log whose records were removed."""

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
from pyspark_pulsar.checkpoint.refusals import path_not_found
from pyspark_pulsar.errors import CheckpointLost
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.cursor_requests import FIRST, new_cursors


@dataclass(frozen=True, slots=True)
class Logs:
    """The two opened logs of a checkpoint."""

    index: IndexLog
    index_partition: TopicPartition
    content_writer: LogWriter
    content_partition: TopicPartition
    content: ContentReader
    inline: InlineBodies
    chunk_locations: ChunkLocations

    def close(self) -> None:
        """Close the logs. Calls that wait for a log fail."""
        self.index.close()
        self.content_writer.close()
        self.content.close()


def open_logs(cluster: Cluster, name: CheckpointName, deadline: Deadline, *, create: bool) -> Logs:
    """Open the logs of a checkpoint; with `create`, create missing topics.

    Raises:
        CheckpointPathNotFound: The checkpoint does not exist, and `create` is false.
        CheckpointLost: The content log has content, but there is no index.

    """
    content = cluster.partition(name.content)
    index = cluster.partition(name.index)
    if index is None and content is not None and has_entries(cluster, content):
        raise CheckpointLost(
            f"{name}: expected the index {name.index} because {content} has content, got none: the topic of the index "
            f"was deleted; restore the checkpoint from a copy (pyspark-pulsar checkpoint copy), or delete it "
            f"(pyspark-pulsar checkpoint rm)"
        )
    if index is not None and content is None and not create:
        # Another process is creating the checkpoint, or died while creating the checkpoint. If the content log was
        # deleted instead, reading chunks fails later.
        content = TopicPartition(name.content, index.index)
    if create:
        content = content or cluster.partition(name.content, create=True)
        index = index or cluster.partition(name.index, create=True)
    if index is None or content is None:
        raise path_not_found(str(name))
    chunk_locations = ChunkLocations(cluster, content)
    writer = LogWriter(cluster.new_client(), index.name, CALL_SECONDS)
    content_writer = LogWriter(cluster.new_client(), content.name, CALL_SECONDS)
    if create:
        try:
            # Opening a producer creates the keeper subscription. Without this subscription, the broker may remove the
            # first message.
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


def has_entries(cluster: Cluster, partition: TopicPartition) -> bool:
    """Return whether the topic stores entries, even if its broker shows no message at present.

    A broker that is unloading a topic shows no messages. Even then, a new cursor begins at the first stored entry.
    """
    with cluster.borrowed() as client:
        first = new_cursors(client, {partition: FIRST}).get(partition)
        end = new_cursors(client, {partition: None}).get(partition)
    return first is not None and end is not None and first < end


def was_emptied(cluster: Cluster, logs: Logs) -> bool:
    """Return whether an index that is empty now had records that were removed.

    The result is also True while another process writes the first record.
    """
    return logs.index.writer.was_exclusive() or has_entries(cluster, logs.content_partition)


def index_emptied(name: CheckpointName, logs: Logs) -> CheckpointLost:
    """Return the error for an index whose records were all removed."""
    return CheckpointLost(
        f"{name}: expected a FORMAT record in {logs.index_partition}, which was written once, got an empty topic. The "
        f"cause is a truncation, message TTL, backlog eviction or a subscription that was moved or deleted; restore "
        f"the checkpoint from a copy (pyspark-pulsar checkpoint copy), or delete it to start from scratch "
        f"(pyspark-pulsar checkpoint rm)"
    )
