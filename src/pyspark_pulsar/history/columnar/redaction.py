"""Texts of catalogs and stores without what is secret in them: values that users gave for keys, tokens, passwords."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_WORDS: Final = ("secret", "token", "password", "credential", "key", "authorization", "connection-string")
_LEAST: Final = 4
"""Letters of a secret; shorter ones would be found in all texts."""
_PASSWORD_OF_URL: Final = re.compile(r"://[^/@:]*:([^/@]+)@")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_MOST: Final = 400


def secret_values(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Of a catalog's properties: those that no text may show, and passwords in URLs."""
    given = [value for key, value in properties.items() if any(word in key.lower() for word in _WORDS)]
    given += [password for value in properties.values() for password in _PASSWORD_OF_URL.findall(value)]
    return tuple(value for value in given if len(value) >= _LEAST)


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """The text with stars where it has a secret."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def one_line(fault: BaseException, secrets: tuple[str, ...]) -> str:
    """What a fault says, in one line without secrets and colours, of at most 400 letters."""
    words = _COLOURS.sub("", str(fault)).replace("↳", " ").split()
    text = redacted(" ".join(words), secrets)
    return text if len(text) <= _MOST else f"{text[: _MOST - 4]} ..."
