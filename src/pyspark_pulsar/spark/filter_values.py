"""Constants of Spark's filters that Python has no value for.

Spark sends the constants of pushed filters as variants, and its worker calls `VariantVal.toPython` for each. Times
before the year 1 and after the year 9999 raise `OverflowError` there, before this package sees the filter.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql.types import VariantVal


class BeyondPython:
    """The value of a constant that Python cannot hold. Equal to nothing but itself."""


BEYOND_PYTHON: Final = BeyondPython()

_to_python = VariantVal.toPython


def keep_constants_beyond_python() -> None:
    """Let Spark's worker read constants that Python cannot hold as `BEYOND_PYTHON`.

    Changes `VariantVal` in this process, which must be one that pushes filters.
    """
    VariantVal.toPython = _value  # type: ignore[method-assign, assignment]


def _value(variant: VariantVal) -> Any:
    try:
        return _to_python(variant)
    except (OverflowError, ValueError):
        return BEYOND_PYTHON
