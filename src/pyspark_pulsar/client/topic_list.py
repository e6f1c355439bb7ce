"""The topics of a namespace whose names this package can use.

Queries on these topics succeed even if the namespace also contains topics with other names.
"""

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
    """A snapshot of the persistent topics in a namespace, without topics whose names this package cannot use."""

    names: frozenset[TopicName]
    """The names in the broker's list. The list contains each partition that a broker has loaded at least once."""
    digest: str
    """The broker's hash of the list, or an empty string if the broker returns no hash."""


def usable_topics(names: Iterable[str], namespace: Namespace) -> frozenset[TopicName]:
    """Parse the topic names in a broker's list, and omit names that this package cannot use.

    In each process, the first call that omits names of a namespace logs a warning.
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
