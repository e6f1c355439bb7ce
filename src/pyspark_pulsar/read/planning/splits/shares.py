"""Division of a number in proportion to weights. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_WHOLE: Final = 1 << 40


def shares(total: int, weights: Sequence[float]) -> list[int]:
    """Divide `total` in proportion to `weights`, with at least one for each.

    If `total` is too small for that, the first ones get one each. The shares add up to `total` if there are weights.
    """
    number = len(weights)
    if total <= number or number == 0:
        return [1 if index < total else 0 for index in range(number)]
    # Integers are exact; floating point would lose messages of large totals.
    most = max(weights)
    parts = [max(1, int(_WHOLE * (weight / most))) if most > 0 else 1 for weight in weights]
    rest = total - number
    rounded = [rest * part // sum(parts) for part in parts]
    lacking = rest - sum(rounded)
    return [1 + part + (1 if index < lacking else 0) for index, part in enumerate(rounded)]
