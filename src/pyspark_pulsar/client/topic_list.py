"""The topics of a namespace that this package can use. An unusable topic does not fail queries on other topics."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.model.topic import Namespace, TopicName, parse_listed

_log: Final = logging.getLogger(__name__)
_warned_namespaces: Final[set[Namespace]] = set()


@dataclass(frozen=True, slots=True)
class TopicListing:
    """The persistent topics of a namespace at one time, without topics whose names this package cannot use."""

    names: frozenset[TopicName]
    """The names in the broker's list. For a partitioned topic, these are the partitions that were loaded before."""
    digest: str
    """The broker's hash of the list, or empty if the broker returns none."""


def usable_topics(names: Iterable[str], namespace: Namespace) -> frozenset[TopicName]:
    """Parse the names of topics in a broker's list, and omit names that this package cannot use.

    A warning reports omitted names, once for each namespace and process.
    """
    topics, unusable = parse_listed(names)
    if unusable and namespace not in _warned_namespaces:
        _warned_namespaces.add(namespace)
        _log.warning(
            "Leaving out %d topics whose names this package cannot use, such as %s: namespace %s",
            len(unusable),
            ascii(min(unusable)),
            namespace,
        )
    return frozenset(topics)
