"""Constants in Spark's filters that Python cannot represent.

Spark sends the constants of pushed filters as variants, and Spark's worker calls `VariantVal.toPython` for each
constant. For times before the year 1 and after the year 9999, this call raises `OverflowError` before this package
receives the filter.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql.types import VariantVal


class BeyondPython:
    """A placeholder for a constant that Python cannot represent. The placeholder is equal only to itself."""


BEYOND_PYTHON: Final = BeyondPython()

_to_python = VariantVal.toPython


def keep_constants_beyond_python() -> None:
    """Make Spark's worker return `BEYOND_PYTHON` for constants that Python cannot represent.

    The function changes `VariantVal` in the whole process. Call the function only in a process that pushes filters.
    """
    VariantVal.toPython = _value  # type: ignore[method-assign, assignment]


def _value(variant: VariantVal) -> Any:
    try:
        return _to_python(variant)
    except (OverflowError, ValueError):
        return BEYOND_PYTHON
