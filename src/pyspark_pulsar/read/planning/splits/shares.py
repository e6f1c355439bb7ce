"""Division of a number in proportion to weights. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_WHOLE: Final = 1 << 40


def shares(total: int, weights: Sequence[float]) -> list[int]:
    """Divide `total` in proportion to `weights`. Each share is at least 1.

    If `total` is smaller than the number of weights, the first `total` shares are 1 and the rest are 0. The shares add
    up to `total`, unless there are no weights.
    """
    number = len(weights)
    if total <= number or number == 0:
        return [1 if index < total else 0 for index in range(number)]
    # Integers are exact. Floating-point numbers would lose messages of large totals.
    most = max(weights)
    parts = [max(1, int(_WHOLE * (weight / most))) if most > 0 else 1 for weight in weights]
    rest = total - number
    rounded = [rest * part // sum(parts) for part in parts]
    lacking = rest - sum(rounded)
    return [1 + part + (1 if index < lacking else 0) for index, part in enumerate(rounded)]
