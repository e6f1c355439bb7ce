"""Files of Java properties, which Spark (`spark-defaults.conf`) and Pulsar (`standalone.conf`) read.

https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/Properties.html#load(java.io.Reader)
"""

from __future__ import annotations

from collections.abc import Mapping


def properties_text(settings: Mapping[str, str]) -> str:
    """Return one line for each setting: key, space and value, as in Spark's own files."""
    return "".join(f"{escaped(key)} {escaped(value)}\n" for key, value in settings.items())


def escaped(text: str) -> str:
    """Escape a key or value. Characters that a terminal does not print, such as line ends, become UTF-16 escapes."""
    return "".join(
        letter if letter.isprintable() else _utf_16(letter) for letter in text.replace("\\", "\\\\")
    )


def _utf_16(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
