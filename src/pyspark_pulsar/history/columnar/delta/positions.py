"""Positions of a topic as transaction identifiers of a Delta table. Pure.

A Delta commit may contain `{"txn": {"appId": <text>, "version": <64 bits>}}`, which records the progress of an
application as a number. Only the last number of each application is valid. When the log is cleaned up, the number
remains in the log's checkpoints. When other engines rewrite files, the number does not change. A commit adds files and
sets numbers atomically. So positions are stored as numbers:

    pulsar.positions/commits               the number of commits of this package; this number is the fence
    pulsar.positions/indexes               the largest index of a topic partition, plus 1
    pulsar.positions/checksum              a checksum of all positions, which shows that numbers have expired
    pulsar.positions/<index>/end.ledger    `TieredPartition.end` of the topic partition with this index; the index is
    pulsar.positions/<index>/end.entry     -1 for a topic without partitions
    pulsar.positions/<index>/next          the field of this name of `TieredPartition`; -1 for None
    pulsar.positions/<index>/closed_at
    pulsar.positions/<index>/seen_at
    pulsar.positions/<index>/created       as Unix milliseconds
    pulsar.positions/<index>/lost          the number of lost ranges
    pulsar.positions/<index>/lost.0.start.ledger, lost.0.start.entry, lost.0.end.ledger, lost.0.end.entry
                                           the first lost range

Each query for a number reads the end of the log, so hundreds of queries are slow. Therefore the commit information of
each commit of this package also contains the document of `columnar.positions` and the number of the commit. Users can
read the commit information in the table's history. The last commit of this package is usually one of the last few
commits of the table, so readers find the document without queries. If log cleanup has deleted the last commit of this
package, readers query the numbers. Restoring a table to an earlier version does not restore the numbers. After a
restore, readers search the log for the document, if necessary back to the start of the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark_pulsar.history.columnar.positions import Range, TieredPartition, TieredPositions
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition

_PREFIX: Final = "pulsar.positions"
COMMITS: Final = f"{_PREFIX}/commits"
DOCUMENT: Final = _PREFIX
"""The field of the commit information that contains the positions document."""
DOCUMENT_NUMBER: Final = "pulsar.commits"
"""The field of the commit information that contains the number of the commit. The identifier `COMMITS` has the same
number.
"""

_INDEXES: Final = f"{_PREFIX}/indexes"
_CHECKSUM: Final = f"{_PREFIX}/checksum"
_FIELDS: Final = ("end.ledger", "end.entry", "next", "closed_at", "seen_at", "created", "lost")
_LOST_FIELDS: Final = ("start.ledger", "start.entry", "end.ledger", "end.entry")
_NONE: Final = -1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Query = Callable[[Sequence[str]], Sequence[int | None]]
"""A function that accepts application ids and returns the number of each id. The number is None if the table lacks the
id.
"""


class PositionsIncomplete(Exception):
    """Some numbers that represent positions are missing in the table, or the numbers are from different commits."""


def numbers_of(positions: TieredPositions) -> dict[str, int]:
    """Return the numbers that represent positions, by application id. The result does not include `COMMITS`.

    Raises:
        ValueError: A position is inside an entry.

    """
    numbers = {
        _INDEXES: max((partition.index + 1 for partition in positions), default=0),
        _CHECKSUM: _checksum(positions),
    }
    for partition, tiered in positions.partitions.items():
        prefix = f"{_PREFIX}/{partition.index}"
        values: dict[str, int | None] = {
            **_position("end.", tiered.end),
            "next": tiered.next,
            "closed_at": tiered.closed_at,
            "seen_at": tiered.seen_at,
            "created": created_ms(tiered.created),
            "lost": len(tiered.lost),
        }
        for number, (start, end) in enumerate(tiered.lost):
            values |= _position(f"lost.{number}.start.", start) | _position(f"lost.{number}.end.", end)
        numbers |= {f"{prefix}/{name}": _NONE if value is None else value for name, value in values.items()}
    return numbers


def positions_of(topic: TopicName, query: Query) -> TieredPositions:
    """Read the positions from a table's numbers, with at most four calls of `query`. Raises `PositionsIncomplete`."""
    count, checksum = query([_INDEXES, _CHECKSUM])
    if count is None or checksum is None:
        raise PositionsIncomplete("no numbers exist")
    partitions = [TopicPartition(topic, index) for index in range(-1, count)]
    prefixes = {partition: f"{_PREFIX}/{partition.index}" for partition in partitions}
    ends = query([f"{prefixes[partition]}/{_FIELDS[0]}" for partition in partitions])
    tiered = [partition for partition, end in zip(partitions, ends, strict=True) if end is not None]
    numbers = _queried_numbers(
        query, [f"{prefixes[partition]}/{name}" for partition in tiered for name in _FIELDS]
    )
    numbers |= _queried_numbers(
        query,
        [
            f"{prefixes[partition]}/lost.{number}.{name}"
            for partition in tiered
            for number in range(numbers[f"{prefixes[partition]}/lost"])
            for name in _LOST_FIELDS
        ],
    )
    positions = TieredPositions(
        {partition: _partition(f"{prefixes[partition]}/", numbers) for partition in tiered}
    )
    if _checksum(positions) != checksum:
        raise PositionsIncomplete("some numbers are missing or of another commit")
    return positions


def document_in(information: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return the number and the positions document of a commit, or None if another program made the commit."""
    number, text = information.get(DOCUMENT_NUMBER), information.get(DOCUMENT)
    return (number, text) if isinstance(number, int) and isinstance(text, str) else None


def created_ms(created: str | None) -> int | None:
    """Convert `TieredPartition.created` to Unix milliseconds.

    Return None if `created` is None, or if its exact text cannot be computed from the milliseconds.
    """
    if created is None:
        return None
    try:
        milliseconds = (datetime.fromisoformat(created) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, TypeError):
        return None
    return milliseconds if milliseconds >= 0 and _created_text(milliseconds) == created else None


def _created_text(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _queried_numbers(query: Query, names: Sequence[str]) -> dict[str, int]:
    numbers = dict(zip(names, query(names), strict=True)) if names else {}
    missing = next((name for name, number in numbers.items() if number is None), None)
    if missing is not None:
        raise PositionsIncomplete(f"{missing} is missing")
    return {name: number for name, number in numbers.items() if number is not None}


def _partition(prefix: str, numbers: Mapping[str, int]) -> TieredPartition:
    def number_or_none(name: str) -> int | None:
        number = numbers[prefix + name]
        return None if number == _NONE else number

    def position(name: str) -> Position:
        return Position(numbers[f"{prefix}{name}.ledger"], numbers[f"{prefix}{name}.entry"])

    created = number_or_none("created")
    lost: tuple[Range, ...] = tuple(
        (position(f"lost.{number}.start"), position(f"lost.{number}.end"))
        for number in range(numbers[f"{prefix}lost"])
    )
    return TieredPartition(
        position("end"),
        None if created is None else _created_text(created),
        number_or_none("next"),
        number_or_none("closed_at"),
        number_or_none("seen_at"),
        lost,
    )


def _position(prefix: str, position: Position) -> dict[str, int | None]:
    if position.batch_index:
        raise ValueError(f"expected a position between entries, got {position}")
    return {f"{prefix}ledger": position.ledger, f"{prefix}entry": position.entry}


def _checksum(positions: TieredPositions) -> int:
    """Return the checksum of positions, for the number `pulsar.positions/checksum`."""
    digest = hashlib.sha256(canonical(positions).to_json().encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def canonical(positions: TieredPositions) -> TieredPositions:
    """Return a copy of positions in which numbers represent each value exactly.

    Creation times that `created_ms` cannot convert become None.
    """
    return TieredPositions(
        {
            partition: replace(tiered, created=None if created_ms(tiered.created) is None else tiered.created)
            for partition, tiered in positions.partitions.items()
        }
    )
