"""Detection of misspelled properties. A property whose name resembles no known name is stored unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from pyspark_pulsar.errors import OptionError

# With this limit, `partition` and `num_partitions` are misspelled forms of `partitions`, and `partner` is not.
_SMALLEST_LIKENESS: Final = 0.85


def refuse_misspelling(key: str, known: Iterable[str]) -> None:
    """Raise `OptionError` if a property is not in `known` but resembles one of these names."""
    names = list(known)
    if key in names:
        return
    likeness = {name: SequenceMatcher(None, _normalized(key), _normalized(name)).ratio() for name in names}
    close = max(names, key=lambda name: likeness[name])
    if likeness[close] >= _SMALLEST_LIKENESS:
        raise OptionError(
            f"property '{key}' looks like '{close}': expected '{close}', or a name that is less similar to it; "
            f"correct the name"
        )


def _normalized(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(".", "").lower()
