"""Numbers with a unit and a formula, so that each figure can be shown with its own formula.

    rate = messages_a_day / seconds_a_day       # 69,444 messages/s, "messages a day / 86,400 s/day"
    cores = (rate * cost).named("cores")        # cost is in core·s/message, so cores is in cores

Formulas show a named quantity by its name. Adding or comparing quantities with different units raises `ValueError`,
because such an operation is a fault in the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

Units = tuple[tuple[str, int], ...]
"""Base units and their exponents other than 0, sorted."""

_SUM, _PRODUCT, _ATOM = 1, 2, 3
_SHOWN_DIGITS: Final = 4
_LARGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Quantity:
    """An immutable number with its unit and formula. The function `quantity` and arithmetic create instances."""

    value: float
    units: Units
    formula: str
    """The formula of the value; for an input, its number and unit."""
    source: str = ""
    """The origin of an input's number, such as an option, a file or a measurement."""
    name: str = ""
    binding: int = _ATOM
    """The precedence of the formula's outermost operation, which determines where parentheses are needed."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"expected a finite number, got {self.value} for {self.name or self.formula}")

    def named(self, name: str) -> Quantity:
        """Return the quantity with a name. Formulas that contain the quantity show this name."""
        return replace(self, name=name)

    @property
    def unit(self) -> str:
        """The unit, such as `B/s`; empty for a number without a unit."""
        numerator = "·".join(_power(base, power) for base, power in self.units if power > 0)
        denominator = "/".join(_power(base, -power) for base, power in self.units if power < 0)
        return f"{numerator or ('1' if denominator else '')}{'/' if denominator else ''}{denominator}"

    def __add__(self, other: Quantity) -> Quantity:
        return self._joined(other, "+", self.value + other.value)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._joined(other, "-", self.value - other.value)

    def __mul__(self, other: Quantity) -> Quantity:
        units = _product(self.units, other.units, 1)
        text = f"{self.term(_PRODUCT)} * {other.term(_PRODUCT)}"
        return Quantity(self.value * other.value, units, text, binding=_PRODUCT)

    def __truediv__(self, other: Quantity) -> Quantity:
        units = _product(self.units, other.units, -1)
        text = f"{self.term(_PRODUCT)} / {other.term(_ATOM)}"
        return Quantity(self.value / other.value, units, text, binding=_PRODUCT)

    def _joined(self, other: Quantity, sign: str, value: float) -> Quantity:
        _require_equal_units(self, other)
        right = other.term(_PRODUCT if sign == "-" else _SUM)
        return Quantity(value, self.units, f"{self.term(_SUM)} {sign} {right}", binding=_SUM)

    def term(self, binding: int) -> str:
        """Return the text of this quantity as an operand of an operation with the precedence `binding`."""
        if self.name:
            return self.name
        return f"({self.formula})" if self.binding < binding else self.formula


def quantity(value: float, unit: str, name: str = "", source: str = "") -> Quantity:
    """Return an input.

    Args:
        value: The number.
        unit: Base units joined by `*`. The units after a `/` divide, as in `core*s/message/topic`.
        name: The name in formulas.
        source: The origin of the number.

    """
    powers: dict[str, int] = {}
    for index, part in enumerate(unit.split("/")):
        for base in part.split("*"):
            if base not in ("", "1"):
                powers[base] = powers.get(base, 0) + (1 if index == 0 else -1)
    made = Quantity(value, tuple(sorted(powers.items())), "", source, name)
    return replace(made, formula=f"{number_text(value)} {made.unit}".strip())


def rounded_up(number: Quantity) -> Quantity:
    """Round up to the next whole number."""
    # Arithmetic has noise in the last digits, so 3.0000000000000004 cores must become 3, and not 4.
    whole = float(math.ceil(number.value - 1e-12 * max(1.0, abs(number.value))))
    return Quantity(whole, number.units, f"round_up({number.name or number.formula})")


def largest(*choices: Quantity) -> Quantity:
    """Return the largest of quantities with equal units."""
    return _chosen(max, *choices)


def smallest(*choices: Quantity) -> Quantity:
    """Return the smallest of quantities with equal units."""
    return _chosen(min, *choices)


def share_hit(throws: Quantity, boxes: Quantity) -> Quantity:
    """Return the expected share of boxes that are hit, if each throw hits a random box: `1 - exp(-throws / boxes)`."""
    ratio = throws.value / boxes.value
    return Quantity(-math.expm1(-ratio), (), f"(1 - exp(-{throws.term(_ATOM)} / {boxes.term(_ATOM)}))")


def _chosen(choose: Callable[..., Quantity], *choices: Quantity) -> Quantity:
    for other in choices[1:]:
        _require_equal_units(choices[0], other)
    chosen = choose(*choices, key=lambda each: each.value)
    terms = ", ".join(each.name or each.formula for each in choices)
    return Quantity(chosen.value, chosen.units, f"{choose.__name__}({terms})")


def _require_equal_units(left: Quantity, right: Quantity) -> None:
    if left.units != right.units:
        raise ValueError(
            f"expected equal units, got {left.unit or 'none'} of {left.name or left.formula} and "
            f"{right.unit or 'none'} of {right.name or right.formula}"
        )


def _product(left: Units, right: Units, sign: int) -> Units:
    powers = dict(left)
    for base, power in right:
        powers[base] = powers.get(base, 0) + sign * power
    return tuple(sorted((base, power) for base, power in powers.items() if power))


def _power(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"


def number_text(value: float) -> str:
    """Return a number as text with grouped thousands.

    If a number below 1000 is not whole, the text has at most four significant digits.
    """
    if value == int(value) and abs(value) < _LARGE**5:
        return f"{int(value):,}"
    if abs(value) >= _LARGE:
        return f"{value:,.0f}"
    return f"{value:.{_SHOWN_DIGITS}g}"
