"""How long messages are kept: the properties of a table or namespace against what is set there now."""

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
    """Minutes and MiB; -1 is infinite. Nothing is kept when both are 0; else neither may be."""

    minutes: int
    megabytes: int

    @property
    def keeps_nothing(self) -> bool:
        return self.minutes == 0 and self.megabytes == 0


ALL: Final = Retention(INFINITE, INFINITE)


def of_policy(policy: Any) -> Retention | None:
    """What a broker's policy says; None where there is none."""
    if not isinstance(policy, Mapping):
        return None
    return Retention(int(policy["retentionTimeInMinutes"]), int(policy["retentionSizeInMB"]))


def changed(
    before: Retention | None, properties: Mapping[str, str], removed: Collection[str] = ()
) -> Retention | None:
    """The retention after a change; None when none is set any more. A limit that is not given stays as it was, or is
    infinite. Raises OptionError for values that are none, and for one limit of 0 beside another."""
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
            f"properties '{TIME}' and '{SIZE}': expected both 0, to keep nothing, or neither, got "
            f"{_shown(minutes, megabytes)}; give both, and infinite for the limit that is none"
        )
    return Retention(0, 0)


def _shown(minutes: int | None, megabytes: int | None) -> str:
    texts = printed_retention(minutes or 0, megabytes or 0)
    return f"{texts[TIME]} and {texts[SIZE]}"


def apply_retention(admin: AdminClient, where: Namespace | TopicName, retention: Retention | None) -> None:
    if retention is None:
        admin.policies.remove_retention(where)
    else:
        admin.policies.set_retention(where, retention.minutes, retention.megabytes)


def keep_messages(admin: AdminClient, topic: TopicName) -> None:
    """Without a retention of its own or one that applies to it, a topic is deleted with its messages as soon as nobody
    uses it: give it one."""
    applied = of_policy(admin.policies.applied(topic, "retention"))
    if applied is None or applied.keeps_nothing:
        admin.policies.set_retention(topic, ALL.minutes, ALL.megabytes)
