"""Removal of secrets from texts: the keys, tokens and passwords in the settings of catalogs and stores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_WORDS: Final = ("secret", "token", "password", "credential", "key", "authorization", "connection-string")
_SHORTEST_SECRET: Final = 4
"""The length of the shortest secret that is removed, in characters. Shorter secrets could occur in ordinary texts."""
_PASSWORD_OF_URL: Final = re.compile(r"://[^/@:]*:([^/@]+)@")
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST_TEXT: Final = 400


def secret_values(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in a catalog's properties that no text may show, including passwords in URLs."""
    secrets = [value for key, value in properties.items() if any(word in key.lower() for word in _WORDS)]
    secrets += [password for value in properties.values() for password in _PASSWORD_OF_URL.findall(value)]
    return tuple(value for value in secrets if len(value) >= _SHORTEST_SECRET)


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text with each secret replaced by stars."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def one_line(fault: BaseException, secrets: tuple[str, ...]) -> str:
    """Return the text of an exception in one line of at most 400 characters, without secrets and terminal colors."""
    words = _COLORS.sub("", str(fault)).replace("↳", " ").split()
    text = redact(" ".join(words), secrets)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 4]} ..."
