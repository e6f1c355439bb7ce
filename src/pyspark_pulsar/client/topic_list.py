"""The topics of a namespace's list that this package can use. The others must stop nobody who does not ask for them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.model.topic import Namespace, TopicName, parse_listed

_log: Final = logging.getLogger(__name__)
_told: Final[set[Namespace]] = set()


@dataclass(frozen=True, slots=True)
class TopicListing:
    """The persistent topics of a namespace at one time, but those whose names this package cannot use."""

    names: frozenset[TopicName]
    """As the broker lists them: of a topic with partitions those that have been loaded once, by their own names."""
    digest: str
    """What the broker calls this list; empty where it does not."""


def usable_topics(names: Iterable[str], namespace: Namespace) -> frozenset[TopicName]:
    """Names as brokers list them; what is left out is a warning, once for each namespace and process."""
    topics, unusable = parse_listed(names)
    if unusable and namespace not in _told:
        _told.add(namespace)
        _log.warning(
            "namespace %s: %d of its topics are left out, whose names this package cannot use, such as %s",
            namespace,
            len(unusable),
            ascii(min(unusable)),
        )
    return frozenset(topics)
