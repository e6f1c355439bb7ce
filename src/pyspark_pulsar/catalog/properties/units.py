"""Parsing and printing the times and sizes in properties of tables and namespaces. The number -1 means infinite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.errors import OptionError

INFINITE: Final = -1
_ENDLESS: Final = "infinite"
_DURATION: Final = re.compile(r"(?P<number>\d{1,15})\s*(?P<unit>s|m|min|h|d)")
_SIZE: Final = re.compile(r"(?P<number>\d{1,15})\s*(?P<unit>[kmgt]?b?)")
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_BYTES: Final = {"TB": 1 << 40, "GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}
_MINUTE: Final = 60
# Pulsar stores minutes, seconds and MiB in 32 bits.
_MOST: Final = 2**31 - 1
_MOST_BYTES: Final = 2**63 - 1


def ttl_seconds(key: str, text: str) -> int:
    """Parse a duration, and return seconds. Raises `OptionError` if the text is not a duration."""
    return _within(key, text, _seconds(key, text, "a duration such as 30s, 12h or 7d"), _MOST)


def retention_minutes(key: str, text: str) -> int:
    """Parse a duration in whole minutes, or `infinite`, and return minutes. Raises `OptionError` for other texts."""
    expected = "a duration in whole minutes such as 12h or 7d, or infinite"
    if text.strip().lower() == _ENDLESS:
        return INFINITE
    seconds = _seconds(key, text, expected)
    if seconds % _MINUTE:
        raise _refusal(key, text, expected)
    return _within(key, text, seconds // _MINUTE, _MOST)


def retention_megabytes(key: str, text: str) -> int:
    """Parse a size in whole MiB, or `infinite`, and return MiB. Raises `OptionError` for other texts."""
    expected = "a size in whole megabytes such as 512MB or 10GB, or infinite"
    if text.strip().lower() == _ENDLESS:
        return INFINITE
    size = _size(key, text, expected)
    if size % _BYTES["MB"]:
        raise _refusal(key, text, expected)
    return _within(key, text, size // _BYTES["MB"], _MOST)


def threshold_bytes(key: str, text: str) -> int:
    """Parse a size, and return bytes. Raises `OptionError` if the text is not a size."""
    return _within(key, text, _size(key, text, "a size such as 100MB, or a number of bytes"), _MOST_BYTES)


def printed_duration(seconds: int) -> str:
    """Format a duration in the largest unit in which it is a whole number."""
    return _in_units(seconds, _SECONDS, "s")


def printed_size(size: int) -> str:
    """Format a size in the largest unit from TB to KB in which it is a whole number, otherwise in bytes."""
    return _in_units(size, _BYTES, "")


def printed_retention(minutes: int, megabytes: int) -> dict[str, str]:
    """Return the properties `retention_time` and `retention_size` of a retention."""
    size = megabytes if megabytes < 0 else megabytes * _BYTES["MB"]
    seconds = minutes if minutes < 0 else minutes * _MINUTE
    return {"retention_time": printed_duration(seconds), "retention_size": printed_size(size)}


def _in_units(number: int, units: Mapping[str, int], least: str) -> str:
    """Format a number in the largest unit in which it is a whole number.

    Args:
        number: The number, in the unit `least`.
        units: A map from the name of a unit to its length in the unit `least`, the largest unit first.
        least: The name of the smallest unit.

    """
    if number < 0:
        return _ENDLESS
    exact = (unit for unit, length in units.items() if number and number % length == 0)
    unit = next(exact, None)
    return f"{number}{least}" if unit is None else f"{number // units[unit]}{unit}"


def _seconds(key: str, text: str, expected: str) -> int:
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise _refusal(key, text, expected)
    return int(match["number"]) * _SECONDS[match["unit"][0]]


def _size(key: str, text: str, expected: str) -> int:
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise _refusal(key, text, expected)
    unit = match["unit"].removesuffix("b").upper()
    return int(match["number"]) * (_BYTES[f"{unit}B"] if unit else 1)


def _within(key: str, text: str, number: int, most: int) -> int:
    if number > most:
        raise _refusal(key, text, "a smaller value, or infinite if the property allows it")
    return number


def _refusal(key: str, text: str, expected: str) -> OptionError:
    return OptionError(f"property '{key}': expected {expected}, got {text!r}; correct the value")
