"""Positions of a topic as transaction identifiers of a Delta table. Pure.

A Delta commit may say `{"txn": {"appId": <text>, "version": <64 bits>}}`: how far an application has come. Of each
application the last number counts. Checkpoints keep it when the log is cleaned up, other engines carry it along
whatever they do to files, and a commit brings files and numbers or neither. So positions are numbers:

    pulsar.positions/commits               commits of ours so far; each moves it, so it fences
    pulsar.positions/indexes               one more than the largest index of a topic partition
    pulsar.positions/checksum              of all positions, so that numbers that somebody lets expire are missed
    pulsar.positions/<index>/end.ledger    `TieredPartition.end` of the topic partition of that index, which is -1 for
    pulsar.positions/<index>/end.entry     a topic without partitions
    pulsar.positions/<index>/next          the fields of that name; -1 for None
    pulsar.positions/<index>/closed_at
    pulsar.positions/<index>/seen_at
    pulsar.positions/<index>/created       as Unix milliseconds
    pulsar.positions/<index>/lost          how many ranges; of the first
    pulsar.positions/<index>/lost.0.start.ledger, lost.0.start.entry, lost.0.end.ledger, lost.0.end.entry

To ask for a number is to read the end of the log, so hundreds of them take long. Therefore each commit of ours also
holds the document of `columnar.positions`, with the number of the commit, in its commit information, which people can
read in the table's history. The last commit of ours is mostly one of the last few, and holds the positions. Where log
cleanup has deleted it, the numbers are asked for. Numbers do not go back when a table is restored, so the log is
searched as far as it reaches.
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
"""The field of a commit's information that holds the document ..."""
DOCUMENT_NUMBER: Final = "pulsar.commits"
"""... and the one that holds the number `COMMITS` of that commit."""

_INDEXES: Final = f"{_PREFIX}/indexes"
_CHECKSUM: Final = f"{_PREFIX}/checksum"
_FIELDS: Final = ("end.ledger", "end.entry", "next", "closed_at", "seen_at", "created", "lost")
_LOST_FIELDS: Final = ("start.ledger", "start.entry", "end.ledger", "end.entry")
_NONE: Final = -1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Ask = Callable[[Sequence[str]], Sequence[int | None]]
"""The numbers of these application ids, None for those that the table does not have."""


class PositionsIncomplete(Exception):
    """Numbers are not there, or are not those that were written together."""


def numbers_of(positions: TieredPositions) -> dict[str, int]:
    """By application ids, without `COMMITS`. Raises ValueError for a position inside an entry."""
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


def positions_of(topic: TopicName, ask: Ask) -> TieredPositions:
    """From the numbers of a table, with few calls of `ask`. Raises `PositionsIncomplete`."""
    count, checksum = ask([_INDEXES, _CHECKSUM])
    if count is None or checksum is None:
        raise PositionsIncomplete("there are none")
    partitions = [TopicPartition(topic, index) for index in range(-1, count)]
    prefixes = {partition: f"{_PREFIX}/{partition.index}" for partition in partitions}
    ends = ask([f"{prefixes[partition]}/{_FIELDS[0]}" for partition in partitions])
    tiered = [partition for partition, end in zip(partitions, ends, strict=True) if end is not None]
    numbers = _asked(ask, [f"{prefixes[partition]}/{name}" for partition in tiered for name in _FIELDS])
    numbers |= _asked(
        ask,
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
        raise PositionsIncomplete("some are missing or of another commit")
    return positions


def document_in(information: Mapping[str, Any]) -> tuple[int, str] | None:
    """The number of a commit of ours and its document; None for another's commit."""
    number, text = information.get(DOCUMENT_NUMBER), information.get(DOCUMENT)
    return (number, text) if isinstance(number, int) and isinstance(text, str) else None


def created_ms(created: str | None) -> int | None:
    """Unix milliseconds of `TieredPartition.created`; None for a text that these would not give back."""
    if created is None:
        return None
    try:
        milliseconds = (datetime.fromisoformat(created) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, TypeError):
        return None
    return milliseconds if milliseconds >= 0 and _created(milliseconds) == created else None


def _created(milliseconds: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _asked(ask: Ask, names: Sequence[str]) -> dict[str, int]:
    numbers = dict(zip(names, ask(names), strict=True)) if names else {}
    missing = next((name for name, number in numbers.items() if number is None), None)
    if missing is not None:
        raise PositionsIncomplete(f"{missing} is missing")
    return {name: number for name, number in numbers.items() if number is not None}


def _partition(prefix: str, numbers: Mapping[str, int]) -> TieredPartition:
    def told(name: str) -> int | None:
        number = numbers[prefix + name]
        return None if number == _NONE else number

    def position(name: str) -> Position:
        return Position(numbers[f"{prefix}{name}.ledger"], numbers[f"{prefix}{name}.entry"])

    created = told("created")
    lost: tuple[Range, ...] = tuple(
        (position(f"lost.{number}.start"), position(f"lost.{number}.end"))
        for number in range(numbers[f"{prefix}lost"])
    )
    return TieredPartition(
        position("end"),
        None if created is None else _created(created),
        told("next"),
        told("closed_at"),
        told("seen_at"),
        lost,
    )


def _position(prefix: str, position: Position) -> dict[str, int | None]:
    if position.batch_index:
        raise ValueError(f"expected a position between entries, got {position}")
    return {f"{prefix}ledger": position.ledger, f"{prefix}entry": position.entry}


def _checksum(positions: TieredPositions) -> int:
    """Of the document as its numbers give it back."""
    digest = hashlib.sha256(canonical(positions).to_json().encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def canonical(positions: TieredPositions) -> TieredPositions:
    """As numbers hold them: without times of creation that they cannot hold."""
    return TieredPositions(
        {
            partition: replace(tiered, created=None if created_ms(tiered.created) is None else tiered.created)
            for partition, tiered in positions.partitions.items()
        }
    )
