"""Conversion between the retention properties of tables and namespaces and Pulsar's retention policies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark_pulsar.catalog.properties.units import (
    INFINITE,
    printed_retention,
    retention_megabytes,
    retention_minutes,
)
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import Namespace, TopicName

TIME, SIZE = "retention_time", "retention_size"
RETENTION_PROPERTIES: Final = (TIME, SIZE)


@dataclass(frozen=True)
class Retention:
    """A retention in minutes and MiB.

    The value -1 means infinite. If both values are 0, no message is retained. A retention with exactly one value of 0
    is not valid.
    """

    minutes: int
    megabytes: int

    @property
    def keeps_nothing(self) -> bool:
        return self.minutes == 0 and self.megabytes == 0


ALL: Final = Retention(INFINITE, INFINITE)


def parse_policy(policy: Any) -> Retention | None:
    """Convert a broker's policy to a `Retention`; return None if there is no policy."""
    if not isinstance(policy, Mapping):
        return None
    return Retention(int(policy["retentionTimeInMinutes"]), int(policy["retentionSizeInMB"]))


def change_retention(
    before: Retention | None, properties: Mapping[str, str], removed: Collection[str] = ()
) -> Retention | None:
    """Return the retention after a change; None if the change removes the retention.

    A limit that the change neither sets nor removes keeps its value. If only one limit has a value after the change,
    the other limit becomes infinite.

    Args:
        before: The retention before the change; None if there was none.
        properties: The properties that the change sets.
        removed: The names of the properties that the change removes.

    Raises:
        OptionError: A value is invalid, or only one of the two limits is 0.

    """
    minutes = before.minutes if before and TIME not in removed else None
    megabytes = before.megabytes if before and SIZE not in removed else None
    if before and before.keeps_nothing:
        minutes = megabytes = None if removed or properties.keys() & set(RETENTION_PROPERTIES) else 0
    if TIME in properties:
        minutes = retention_minutes(TIME, properties[TIME])
    if SIZE in properties:
        megabytes = retention_megabytes(SIZE, properties[SIZE])
    if minutes is None and megabytes is None:
        return None
    if 0 not in (minutes, megabytes):
        retention = Retention(
            INFINITE if minutes is None else minutes, INFINITE if megabytes is None else megabytes
        )
        return retention if retention != ALL or properties.keys() & set(RETENTION_PROPERTIES) else None
    if any(limit not in (None, 0) for limit in (minutes, megabytes)):
        raise OptionError(
            f"properties '{TIME}' and '{SIZE}': expected both 0, to keep nothing, or neither 0, got "
            f"{_limits_text(minutes, megabytes)}; set both, with infinite for no limit"
        )
    return Retention(0, 0)


def _limits_text(minutes: int | None, megabytes: int | None) -> str:
    texts = printed_retention(minutes or 0, megabytes or 0)
    return f"{texts[TIME]} and {texts[SIZE]}"


def apply_retention(admin: AdminClient, where: Namespace | TopicName, retention: Retention | None) -> None:
    """Set the retention policy of a namespace or topic; remove the policy if `retention` is None."""
    if retention is None:
        admin.policies.remove_retention(where)
    else:
        admin.policies.set_retention(where, retention.minutes, retention.megabytes)


def keep_messages(admin: AdminClient, topic: TopicName) -> None:
    """Set an infinite retention for a topic to which no retention applies.

    Without a retention, Pulsar deletes the topic and its messages when no client uses the topic any more.
    """
    applied = parse_policy(admin.policies.applied(topic, "retention"))
    if applied is None or applied.keeps_nothing:
        admin.policies.set_retention(topic, ALL.minutes, ALL.megabytes)
