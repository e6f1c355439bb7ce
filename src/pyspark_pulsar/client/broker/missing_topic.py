"""The error for a topic that does not exist, with suggestions of topics that have similar names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Final

from pyspark_pulsar.errors import PulsarError, TopicNotFoundError
from pyspark_pulsar.model.topic import TopicName

_SHOWN: Final = 3
_SIMILARITY: Final = 0.75
_MOST_NAMES: Final = 20_000
"""Maximum number of names to compare. A longer list is not compared, because the comparison would last over 1 s."""


def missing_topic(topic: TopicName, list_names: Callable[[], Iterable[TopicName]]) -> TopicNotFoundError:
    """Return the error for a topic that does not exist.

    Args:
        topic: The topic that does not exist.
        list_names: A function that lists the topics of the namespace that the role is allowed to see. If the function
            raises a `PulsarError`, the returned error suggests no names.

    """
    try:
        names = near_names(topic, list_names())
    except PulsarError:
        names = []
    hint = f"; did you mean {' or '.join(map(repr, names))}?" if names else ""
    return TopicNotFoundError(
        f"topic {topic} does not exist; create it, or correct the name (a read never creates a topic){hint}"
    )


def near_names(topic: TopicName, listed: Iterable[TopicName]) -> list[str]:
    """Return the full names of listed topics whose names are similar to `topic`, the most similar first.

    System topics of Pulsar and of this package are omitted. If the list is longer than `_MOST_NAMES`, return no name.
    """
    names = {str(each.without_partition()) for each in listed if not each.local.startswith("__")}
    if len(names) > _MOST_NAMES:
        return []
    # All names are in the same namespace, so only their local names are compared.
    by_local = {TopicName.parse(name).local.casefold(): name for name in sorted(names, reverse=True)}
    wanted = topic.without_partition().local.casefold()
    return [by_local[close] for close in get_close_matches(wanted, by_local, _SHOWN, _SIMILARITY)]
