"""Whether and how a topic is tiered, as the topic itself says it: in properties of its own, which SQL calls table
properties.

    tier                `iceberg` or `delta`: whoever tiers the topic's namespace takes it. `none`, or without it: not.
    tier.partition_by   of its table when that is made: partition fields, such as `day(__publishTime),country`
    tier.sort_by        likewise: columns

They say nothing of where the tables are; the one who tiers says that. Driver only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.concurrency import map_concurrently
from pyspark_pulsar.errors import OptionError, PermissionDenied, TopicNotFoundError
from pyspark_pulsar.history.tiering.definition import TableSettings, parse_table_settings
from pyspark_pulsar.model.topic import TopicName

TIER: Final = "tier"
PARTITION_BY: Final = "tier.partition_by"
SORT_BY: Final = "tier.sort_by"
TIER_PROPERTIES: Final = (TIER, PARTITION_BY, SORT_BY)
FORMATS: Final = ("iceberg", "delta")
NONE: Final = "none"


def check_tier_properties(properties: Mapping[str, str]) -> None:
    """Raises `OptionError` for values that no tiering could follow."""
    stated = properties.get(TIER)
    if stated is not None and stated not in (*FORMATS, NONE):
        raise OptionError(
            f"property '{TIER}': expected one of {', '.join((*FORMATS, NONE))}, got {stated!r}; correct it"
        )
    stated_settings(properties)


def stated_settings(properties: Mapping[str, str]) -> TableSettings | None:
    """What properties of a topic say of its table; None where they say nothing. Raises `OptionError`."""
    if PARTITION_BY not in properties and SORT_BY not in properties:
        return None
    return parse_table_settings(properties.get(PARTITION_BY), properties.get(SORT_BY))


def topic_settings(
    admin: AdminClient, topic: TopicName, table_format: str, default: TableSettings
) -> TableSettings:
    """Of a table that is about to be made in `table_format`. `default`: what whoever tiers says, which counts where the
    topic says nothing, or may not be asked. Raises `OptionError` where the topic says another format."""
    try:
        properties = admin.topics.properties(topic)
    except PermissionDenied:
        return default
    stated = properties.get(TIER)
    if stated in FORMATS and stated != table_format:
        raise OptionError(
            f"topic {topic}: expected tables of the format {stated}, as its property '{TIER}' says, got a catalog of "
            f"{table_format} tables; change the property, or give another tierCatalog"
        )
    return stated_settings(properties) or default


def topics_to_tier(admin: AdminClient, topics: Iterable[TopicName]) -> list[TopicName]:
    """Those whose property says so, sorted; some are asked at once. Raises the errors of `AdminClient`."""
    asked = sorted(set(topics))
    stated = map_concurrently(lambda topic: _stated(admin, topic), asked)
    return [topic for topic, value in zip(asked, stated, strict=True) if value in FORMATS]


def _stated(admin: AdminClient, topic: TopicName) -> str | None:
    try:
        return admin.topics.properties(topic).get(TIER)
    except TopicNotFoundError:
        # Deleted meanwhile.
        return None
