"""Whether a stream still reads the topics that its checkpoint holds. Driver only.

A checkpoint knows topic partitions by name. Used with other topic options, it would begin the new topics at their first
message and leave what is not yet read of the former ones, without a word.
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
"""`TopicWatch.deleted`."""


class CheckpointTopics:
    """The topics that the checkpoint of one query holds. Used by one thread."""

    def __init__(self, options: ReadOptions, deleted: DeletedTopics) -> None:
        """`deleted`: as in `TopicWatch`."""
        self._options = options
        self._deleted = deleted
        self._abandoned: frozenset[TopicPartition] | None = None

    def check(self, held: Positions) -> None:
        """Check the first offset that Spark gives, before anything else is done with it; later offsets follow from it.
        Raises `OptionError`."""
        if self._abandoned is None:
            self._abandoned = abandoned_topics(self._options, held, self._deleted)

    def still_read(
        self, reached: Positions, ends: Positions, *, drained: Collection[TopicPartition]
    ) -> dict[TopicPartition, Position]:
        """Return the positions that the query has reached, of topics that the options name and that are not deleted.

        Args:
            reached: The positions of the query's last offset.
            ends: The present ends.
            drained: The topic partitions that were read to an end that does not move.

        Raises:
            DataLossError: A topic was deleted that was not drained. With `failOnDataLoss=false` it is logged.

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
    """Return the positions of the stream without deleted topics. A topic that is created under the same name later is
    another topic.

    Args:
        former: The position of each topic partition.
        ends: The present ends. A topic partition without one is kept unless `deleted` returns it.
        deleted: Returns the topic partitions that do not exist.
        drained: The topic partitions that were read to an end that does not move: nothing of them is lost.
        fail: Raise for a loss; otherwise log it.

    Raises:
        DataLossError: A topic was deleted that was not drained.

    """
    missing = set(former) - set(ends)
    gone = deleted(missing) if missing else set()
    for partition in sorted(gone.difference(drained)):
        text = (
            f"{partition}: the query has read up to {former[partition]}, and the topic was deleted since; what it held "
            f"behind that is lost"
        )
        if fail:
            raise DataLossError(
                f"{text}. Start with a new checkpoint, or set failOnDataLoss=false to go on without the topic"
            )
        _log.warning("%s. failOnDataLoss=false: the query goes on without it.", text)
    return {partition: position for partition, position in former.items() if partition not in gone}


def abandoned_topics(
    options: ReadOptions, held: Mapping[TopicPartition, Position], deleted: DeletedTopics
) -> frozenset[TopicPartition]:
    """The topic partitions that a checkpoint holds and the topic options do not name, with `allowDifferentTopics=true`;
    the log says so. Without it, raises `OptionError`.

    `held`: up to where each is read. `deleted` says which of some do not exist: these are a matter of data loss
    (`without_deleted`). It is not called where the options name all.
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
            f"option {key!r} is {text!r}, while the checkpoint holds {left}: expected all topics that the checkpoint "
            f"holds, since what is not yet read of the others would be left. Use the checkpoint with its own topics, "
            f"or begin a new one; to go on without those topics, set allowDifferentTopics=true"
        )
    _log.warning(
        "option %r: %r does not name all topics that the checkpoint holds. allowDifferentTopics=true: the query goes "
        "on without %s; what it has not read of them is left, and their positions are forgotten",
        key, text, left,
    )  # fmt: skip
    return frozenset(unnamed)


def _names(options: ReadOptions) -> Callable[[TopicPartition], bool]:
    """Whether the options name a topic partition: itself, its topic, or by a pattern."""
    pattern = options.topics_pattern
    if pattern is not None:
        return lambda partition: pattern.matches(partition.topic)
    named = {partition for topic in named_topics(options) for partition in partitions_of(topic, 0)}
    return lambda partition: not named.isdisjoint(_names_of(partition))


def _names_of(partition: TopicPartition) -> set[TopicPartition]:
    """What it may be named by; a topic of before a migration belongs to the scalable topic of its name."""
    topic = partition.topic
    return {partition, TopicPartition(topic, -1), TopicPartition(topic.as_scalable, -1)}


def _topic_option(options: ReadOptions) -> tuple[str, str]:
    """Key and value of the topic option."""
    if options.topics_pattern is not None:
        return "topicsPattern", options.topics_pattern.text
    return ("topic", options.topic or "") if options.topics is None else ("topics", ",".join(options.topics))


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_NAMES
    return ", ".join(texts[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
