"""From the text of an option to its value.

A parser raises ValueError whose text says what was expected; `parse_options` adds the key and what was given, and
docs/options.md shows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable


def text(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def url(*schemes: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        address = value.strip().rstrip("/")
        scheme, separator, rest = address.partition("://")
        if not separator or scheme not in schemes or not rest:
            raise ValueError(" or ".join(f"{scheme}://host:port" for scheme in schemes))
        return address

    return parse


def names(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise ValueError("a comma-separated list of names")
    return names


def whole(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return number

    return parse


def choice(*choices: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        for choice in choices:
            if value.strip().lower() == choice.lower():
                return choice
        raise ValueError("one of " + ", ".join(choices))

    return parse


def yes_or_no(value: str) -> bool:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def paths_by_name(value: str) -> tuple[tuple[str, str], ...]:
    try:
        paths = json.loads(value)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, dict) or not all(isinstance(path, str) and path for path in paths.values()):
        raise ValueError('a JSON object from key name to path, such as {"orders-key": "/keys/orders.pem"}')
    return tuple(paths.items())
