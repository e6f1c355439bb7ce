"""Lags of topic partitions put together, so that a query over thousands of topics has few series. Pure.

A series is a label of Prometheus: each costs memory there, and in every query of a dashboard. So the lag is told of
the finest of these of which a source has no more than it may:

    topic partition    if it was asked for
    topic              persistent://tenant/namespace/name
    namespace          persistent://tenant/namespace/*
    all                *
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pyspark_pulsar.tools.monitoring.source_lag import Behind

_PARTITION: Final = re.compile(r"-partition-\d+$")
_ALL: Final = "*"

NameOf = Callable[[str], str]


def lag_series(
    partitions: Mapping[str, Behind], total: Behind, most: int, *, by_partition: bool = False
) -> dict[str, Behind]:
    """From the label `topic` to the lag. `partitions`: by full name; `total`: of all of them; `most`: how many series
    there may be. One that is not known of a part is not known of the whole; the seconds are those of the worst."""
    levels: tuple[NameOf, ...] = (_topic, _namespace)
    if by_partition:
        levels = (str, *levels)
    for level in levels:
        names = {partition: level(partition) for partition in partitions}
        if len(set(names.values())) <= most:
            return _grouped(partitions, names)
    return {_ALL: total}


def _topic(partition: str) -> str:
    return _PARTITION.sub("", partition)


def _namespace(partition: str) -> str:
    return f"{partition.rpartition('/')[0]}/*"


def _grouped(partitions: Mapping[str, Behind], names: Mapping[str, str]) -> dict[str, Behind]:
    groups: dict[str, list[Behind]] = {}
    for partition, behind in partitions.items():
        groups.setdefault(names[partition], []).append(behind)
    return {name: _together(group) for name, group in groups.items()}


def _together(group: list[Behind]) -> Behind:
    known = [behind.seconds for behind in group if behind.seconds is not None]
    return Behind(
        _sum(behind.messages for behind in group),
        _sum(behind.bytes for behind in group),
        max(known, default=None),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
