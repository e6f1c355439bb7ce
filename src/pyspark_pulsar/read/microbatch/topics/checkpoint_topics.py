"""A check that a stream still reads the topics in its checkpoint. Driver only.

A checkpoint contains topic partitions by name. If a query used the checkpoint with other topic options, it would read
the new topics from their first message. The query would silently skip the unread messages of the previous topics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from pyspark_pulsar.errors import DataLossError, OptionError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.topics import named_topics, partitions_of
from pyspark_pulsar.read.cursor_requests import Positions

_log: Final = logging.getLogger(__name__)

_MOST_NAMES: Final = 10

DeletedTopics = Callable[[set[TopicPartition]], set[TopicPartition]]
"""The type of the method `TopicWatch.deleted`."""


class CheckpointTopics:
    """The topics in the checkpoint of one query. Used by one thread."""

    def __init__(self, options: ReadOptions, deleted: DeletedTopics) -> None:
        """Store the arguments. `deleted` is the method `TopicWatch.deleted`."""
        self._options = options
        self._deleted = deleted
        self._abandoned: frozenset[TopicPartition] | None = None

    def check(self, held: Positions) -> None:
        """Check the first offset that Spark passes, before the query uses this offset.

        All later offsets have the same topics, or new topics that the options name.

        Raises:
            OptionError: The options do not name a topic of the checkpoint.

        """
        if self._abandoned is None:
            self._abandoned = abandoned_topics(self._options, held, self._deleted)

    def still_read(
        self, reached: Positions, ends: Positions, *, drained: Collection[TopicPartition]
    ) -> dict[TopicPartition, Position]:
        """Return the query's positions in topics that still exist and that the options name.

        Args:
            reached: The positions of the query's last offset.
            ends: The present ends.
            drained: The topic partitions that were read up to an end that does not move.

        Raises:
            DataLossError: A topic was deleted before it was drained. With `failOnDataLoss=false`, the loss is logged.

        """
        abandoned = self._abandoned or frozenset()
        kept = {partition: position for partition, position in reached.items() if partition not in abandoned}
        fail = self._options.fail_on_data_loss
        return without_deleted(kept, ends, self._deleted, drained=drained, fail=fail)


def without_deleted(
    former: Mapping[TopicPartition, Position],
    ends: Mapping[TopicPartition, Position],
    deleted: DeletedTopics,
    *,
    drained: Collection[TopicPartition] = (),
    fail: bool,
) -> dict[TopicPartition, Position]:
    """Return the positions of the stream without those in deleted topics.

    A topic that is created later under the same name is a different topic.

    Args:
        former: The position of each topic partition.
        ends: The present ends. If a topic partition has no end, it is removed only if `deleted` returns it.
        deleted: Returns the topic partitions of its argument that do not exist.
        drained: The topic partitions that were read up to an end that does not move. The deletion of these partitions
            is no loss.
        fail: Whether to raise an error for a loss, instead of logging a warning.

    Raises:
        DataLossError: A topic was deleted before it was drained.

    """
    missing = set(former) - set(ends)
    gone = deleted(missing) if missing else set()
    for partition in sorted(gone.difference(drained)):
        text = (
            f"{partition}: the query has read up to {former[partition]}, and later messages were deleted with "
            f"the topic"
        )
        if fail:
            raise DataLossError(
                f"{text}. Start with a new checkpoint, or set failOnDataLoss=false to continue without the topic"
            )
        _log.warning("%s. failOnDataLoss=false: the query continues without the topic.", text)
    return {partition: position for partition, position in former.items() if partition not in gone}


def abandoned_topics(
    options: ReadOptions, held: Mapping[TopicPartition, Position], deleted: DeletedTopics
) -> frozenset[TopicPartition]:
    """Return the topic partitions of a checkpoint that the topic options do not name, and log a warning.

    Args:
        options: The topic options, and `allowDifferentTopics`.
        held: The positions in the checkpoint.
        deleted: Returns the topic partitions of its argument that do not exist. This function is called only if the
            options do not name all topics. Deleted topics are not returned, because they are a data loss
            (`without_deleted`).

    Raises:
        OptionError: Such topic partitions exist, and `allowDifferentTopics` is false.

    """
    names = _names(options)
    unnamed = {partition for partition in held if not names(partition)}
    unnamed -= deleted(unnamed) if unnamed else set()
    if not unnamed:
        return frozenset()
    key, text = _topic_option(options)
    left = _listed([f"{partition} (read up to {held[partition]})" for partition in sorted(unnamed)])
    if not options.different_topics:
        raise OptionError(
            f"option {key!r} is {text!r}, but the checkpoint contains {left}: expected all topics of the checkpoint, "
            f"because unread messages of an omitted topic would be skipped. Read all topics of the checkpoint, or "
            f"start a new checkpoint; to continue without the omitted topics, set allowDifferentTopics=true"
        )
    _log.warning(
        "option %r: %r does not name all topics of the checkpoint. allowDifferentTopics=true: the query continues "
        "without %s; their unread messages are skipped, and their positions are forgotten",
        key, text, left,
    )  # fmt: skip
    return frozenset(unnamed)


def _names(options: ReadOptions) -> Callable[[TopicPartition], bool]:
    """Return a test for the topic partitions that the options name: directly, by their topic, or by a pattern."""
    pattern = options.topics_pattern
    if pattern is not None:
        return lambda partition: pattern.matches(partition.topic)
    named = {partition for topic in named_topics(options) for partition in partitions_of(topic, 0)}
    return lambda partition: not named.isdisjoint(_names_of(partition))


def _names_of(partition: TopicPartition) -> set[TopicPartition]:
    """Return the names under which the options may name a partition.

    The segments of a migrated topic include the old topic, so the name of the scalable topic also names the old topic.
    """
    topic = partition.topic
    return {partition, TopicPartition(topic, -1), TopicPartition(topic.as_scalable, -1)}


def _topic_option(options: ReadOptions) -> tuple[str, str]:
    """Return the key and the value of the topic option."""
    if options.topics_pattern is not None:
        return "topicsPattern", options.topics_pattern.text
    return ("topic", options.topic or "") if options.topics is None else ("topics", ",".join(options.topics))


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_NAMES
    return ", ".join(texts[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
