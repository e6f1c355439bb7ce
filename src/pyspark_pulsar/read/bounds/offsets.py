"""From `startingOffsets` and `endingOffsets` to positions. Driver only.

Bounds are checked when the query is planned: a topic that the JSON names but the query does not read, or
the other way round, is an error, never a silent default. `"*"` names all those that the JSON does not name otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.topic import TopicPartition

EARLIEST_TEXT, LATEST_TEXT = "earliest", "latest"
OTHERS = "*"
_SYMBOLS = (EARLIEST_TEXT, LATEST_TEXT)


def check_bound(key: str, text: str, symbols: Iterable[str] = _SYMBOLS) -> None:
    """Check the form of a bound before anything is connected. Raises `OptionError`."""
    if text.lower() not in symbols:
        _parse_json(key, text, tuple(symbols))


def resolve_bound(
    key: str, text: str, partitions: list[TopicPartition], ends: Mapping[TopicPartition, Position]
) -> dict[TopicPartition, Position]:
    """The position in each partition that a bound means; `ends` are the present ends for `latest`.

    `key` names the option in errors. Raises `OptionError`.
    """
    if text.lower() == EARLIEST_TEXT:
        return dict.fromkeys(partitions, EARLIEST)
    if text.lower() == LATEST_TEXT:
        return {partition: ends[partition] for partition in partitions}
    given, others = _parse_json(key, text, _SYMBOLS)
    if others is not None:
        for partition in partitions:
            given.setdefault(partition, others.position)
    missing = sorted(partition.name for partition in partitions if partition not in given)
    unknown = sorted(partition.name for partition in given if partition not in partitions)
    if missing or unknown:
        raise OptionError(
            f"option {key!r}: expected a position for each topic partition that the query reads, got "
            + "; ".join(
                part
                for part in (
                    f"none for {', '.join(missing)}" if missing else "",
                    f"one for {', '.join(unknown)}, which it does not read" if unknown else "",
                )
                if part
            )
        )
    return {
        partition: ends[partition] if position is None else position for partition, position in given.items()
    }


def check_reachable(
    key: str, bound: Mapping[TopicPartition, Position], ends: Mapping[TopicPartition, Position]
) -> None:
    """Refuse positions behind the last message: such a range would end early. Raises `OptionError`."""
    for partition, position in bound.items():
        if position > ends[partition]:
            raise OptionError(
                f"option {key!r}: expected a position in {partition} of at most {ends[partition]} (behind its last "
                f"message), got {position}"
            )


@dataclass(frozen=True, slots=True)
class _Others:
    """What the JSON says for partitions that it does not name; None stands for `latest`."""

    position: Position | None


def _parse_json(
    key: str, text: str, symbols: tuple[str, ...]
) -> tuple[dict[TopicPartition, Position | None], _Others | None]:
    """None stands for `latest`."""
    expected = (
        f"option {key!r}: expected {' or '.join(symbols)}, or JSON from topic partition to position such as "
        f'{{"persistent://public/default/t-partition-0": "12:7:0"}}'
    )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise OptionError(f"{expected}; got {text!r} ({fault})") from None
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise OptionError(f"{expected}; got {text!r}")
    others = None
    if OTHERS in document:
        others = _Others(_position_of_others(key, document.pop(OTHERS)))
    positions: dict[TopicPartition, Position | None] = {}
    for name, value in document.items():
        try:
            positions[TopicPartition.parse(name)] = None if value == LATEST_TEXT else Position.parse(value)
        except OptionError as fault:
            raise OptionError(f"option {key!r}, topic {name!r}: {fault}") from None
    return positions, others


def _position_of_others(key: str, text: str) -> Position | None:
    if text not in _SYMBOLS:
        raise OptionError(
            f"option {key!r}: expected {' or '.join(_SYMBOLS)} for {OTHERS!r}, all topic partitions that are not "
            f"named, got {text!r}; name each that begins or ends elsewhere"
        )
    return None if text == LATEST_TEXT else EARLIEST
