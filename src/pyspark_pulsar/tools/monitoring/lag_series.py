"""A combination of the lags of topic partitions, so that a query over thousands of topics has few series.

In Prometheus, each value of a label has its own series. Each series costs memory in Prometheus, and in every query of a
dashboard. So the lag of a source is reported at one of these levels. The first level at which the source has no more
series than allowed is used:

    topic partition    if requested
    topic              persistent://tenant/namespace/name
    namespace          persistent://tenant/namespace/*
    all                *
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pyspark_pulsar.tools.monitoring.source_lag import Lag

_PARTITION: Final = re.compile(r"-partition-\d+$")
_ALL: Final = "*"

NameOf = Callable[[str], str]


def lag_series(
    partitions: Mapping[str, Lag], total: Lag, most: int, *, by_partition: bool = False
) -> dict[str, Lag]:
    """Return the lag for each value of the label `topic`.

    A series can combine several topic partitions. The messages and bytes of a series are sums. A sum is unknown if one
    summand is unknown. The seconds of a series are the largest known value.

    Args:
        partitions: The lag of each topic partition, by full name.
        total: The lag of all topic partitions together.
        most: The largest number of series.
        by_partition: Allow a series for each topic partition.

    """
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


def _grouped(partitions: Mapping[str, Lag], names: Mapping[str, str]) -> dict[str, Lag]:
    groups: dict[str, list[Lag]] = {}
    for partition, lag in partitions.items():
        groups.setdefault(names[partition], []).append(lag)
    return {name: _together(group) for name, group in groups.items()}


def _together(group: list[Lag]) -> Lag:
    known = [lag.seconds for lag in group if lag.seconds is not None]
    return Lag(
        _sum(lag.messages for lag in group),
        _sum(lag.bytes for lag in group),
        max(known, default=None),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
