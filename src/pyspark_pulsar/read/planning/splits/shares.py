"""A number shared out in proportion to weights. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_WHOLE: Final = 1 << 40


def shares(total: int, weights: Sequence[float]) -> list[int]:
    """`total` shared in proportion to `weights`, but at least one each; the first ones where it is not enough for that.

    The shares sum up to `total`, if there are any.
    """
    number = len(weights)
    if total <= number or number == 0:
        return [1 if index < total else 0 for index in range(number)]
    # Whole numbers, since floating point loses messages where there are many.
    most = max(weights)
    parts = [max(1, int(_WHOLE * (weight / most))) if most > 0 else 1 for weight in weights]
    rest = total - number
    rounded = [rest * part // sum(parts) for part in parts]
    lacking = rest - sum(rounded)
    return [1 + part + (1 if index < lacking else 0) for index, part in enumerate(rounded)]
