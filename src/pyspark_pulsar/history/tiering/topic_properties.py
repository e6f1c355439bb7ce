"""The properties of a topic that select tiering. In SQL, these properties are table properties. Driver only.

    tier                With `iceberg` or `delta`, a process that tiers topics by property also tiers this topic. With
                        `none`, or without the property, the topic is not tiered.
    tier.partition_by   partition fields of a new table, such as `day(__publishTime),country`
    tier.sort_by        sort columns of a new table

The properties do not contain the location of a table. The options of the tiering process locate the tables.
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
    """Raise `OptionError` if a property of tiering has an invalid value."""
    stated = properties.get(TIER)
    if stated is not None and stated not in (*FORMATS, NONE):
        raise OptionError(
            f"property '{TIER}': expected one of {', '.join((*FORMATS, NONE))}, got {stated!r}; correct the value"
        )
    stated_settings(properties)


def stated_settings(properties: Mapping[str, str]) -> TableSettings | None:
    """Return the table settings from a topic's properties, or None if no property contains a table setting.

    Raises:
        OptionError: A value is invalid.

    """
    if PARTITION_BY not in properties and SORT_BY not in properties:
        return None
    return parse_table_settings(properties.get(PARTITION_BY), properties.get(SORT_BY))


def topic_settings(
    admin: AdminClient, topic: TopicName, table_format: str, default: TableSettings
) -> TableSettings:
    """Return the settings for a topic's new table, from the topic's properties or from the default.

    Args:
        admin: The admin REST API.
        topic: The topic.
        table_format: The format of the table.
        default: The settings to return if no property contains a table setting, or if the role is not allowed to read
            the topic's properties.

    Raises:
        OptionError: The topic's properties select another format than `table_format`, or contain an invalid value.

    """
    try:
        properties = admin.topics.properties(topic)
    except PermissionDenied:
        return default
    stated = properties.get(TIER)
    if stated in FORMATS and stated != table_format:
        raise OptionError(
            f"topic {topic}: expected tables of the format {stated}, as in its property '{TIER}', got a catalog of "
            f"{table_format} tables; change the property, or set another tierCatalog"
        )
    return stated_settings(properties) or default


def topics_to_tier(admin: AdminClient, topics: Iterable[TopicName]) -> list[TopicName]:
    """Return the topics whose property `tier` selects tiering, sorted. Raises the errors of `AdminClient`."""
    candidates = sorted(set(topics))
    stated = map_concurrently(lambda topic: _tier_property(admin, topic), candidates)
    return [topic for topic, value in zip(candidates, stated, strict=True) if value in FORMATS]


def _tier_property(admin: AdminClient, topic: TopicName) -> str | None:
    try:
        return admin.topics.properties(topic).get(TIER)
    except TopicNotFoundError:
        # The topic was deleted after it was listed.
        return None
