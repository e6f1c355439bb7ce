"""Properties are kept as the topic's or namespace's own unless they mean something; a slip of the pen must not be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from pyspark_pulsar.errors import OptionError

# `partition` and `num_partitions` are partitions; `partner` is a property of the user's own.
_LIKENESS: Final = 0.85


def refuse_slip(key: str, known: Iterable[str]) -> None:
    """Raises `OptionError` for a property that is none of `known`, and looks like one of them."""
    names = list(known)
    if key in names:
        return
    likeness = {name: SequenceMatcher(None, _letters(key), _letters(name)).ratio() for name in names}
    close = max(names, key=lambda name: likeness[name])
    if likeness[close] >= _LIKENESS:
        raise OptionError(
            f"property '{key}' looks like '{close}' and is not: expected '{close}', or a name of your own that is less "
            f"like it; correct it"
        )


def _letters(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(".", "").lower()
