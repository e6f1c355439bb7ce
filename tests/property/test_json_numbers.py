"""Numbers in JSON, bare or in quotes, are read exactly or not at all; Python's own decimals are the
reference.
"""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from typing import Any

from hypothesis import given, strategies as st
from unit.codec.raw_payloads import decoded, entries, record

from pyspark_pulsar.errors import DecodeError

PRECISION, SCALE = 10, 2
PRICE = record(("x", {"type": "bytes", "logicalType": "decimal", "precision": PRECISION, "scale": SCALE}))
COUNT = record(("x", "long"))

EXPONENTS = st.just("") | st.integers(-25, 25).map(lambda power: f"e{power}")
NUMBERS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.from_regex(r"\A(0|[1-9][0-9]{0,21})(\.[0-9]{1,21})?\Z"),
    EXPONENTS,
)


def fits(number: Decimal, precision: int, scale: int) -> bool:
    with localcontext(prec=100):
        shifted = number.scaleb(scale)
        return shifted == shifted.to_integral_value() and abs(shifted) < 10**precision


def read(kind: dict[str, Any], text: str, *, quoted: bool) -> object:
    payload = f'{{"x": {json.dumps(text) if quoted else text}}}'.encode()
    try:
        (row,) = decoded("JSON", kind, entries(payload))
    except DecodeError:
        return None
    return row["x"]


@given(NUMBERS, st.booleans())
def test_decimals(text: str, quoted: bool) -> None:
    number = Decimal(text)
    expected = number if fits(number, PRECISION, SCALE) else None
    assert read(PRICE, text, quoted=quoted) == expected


@given(NUMBERS, st.booleans())
def test_longs(text: str, quoted: bool) -> None:
    number = Decimal(text)
    whole = fits(number, 38, 0) and -(2**63) <= number < 2**63
    assert read(COUNT, text, quoted=quoted) == (int(number) if whole else None)
