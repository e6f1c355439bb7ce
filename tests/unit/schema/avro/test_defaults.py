import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pulsar.schema.avro.defaults import default_scalar
from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of

UNION = pa.struct(
    [pa.field("member0", pa.int32()), pa.field("member1", list_of(pa.string(), nullable=False))]
)


@pytest.mark.parametrize(
    ("default", "kind", "expected"),
    [
        (None, pa.int32(), None),
        (True, pa.bool_(), True),
        (5, pa.int64(), 5),
        (5, pa.float64(), 5.0),
        ("NaN", pa.float32(), None),
        ("x", pa.string(), "x"),
        ("\u00ff\u0001", pa.binary(), b"\xff\x01"),
        ("\u00ff\u0001", pa.binary(2), b"\xff\x01"),
        ("\u00ff\u0085", pa.decimal128(4, 2), Decimal("-1.23")),
        (1, pa.date32(), dt.date(1970, 1, 2)),
        (1, pa.time32("ms"), dt.time(0, 0, 0, 1000)),
        (1, pa.timestamp("ms", tz="UTC"), dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.UTC)),
        ([1, 2], list_of(pa.int32(), nullable=False), [1, 2]),
        ({"a": "\u00ff"}, map_of(pa.binary(), nullable=False), [("a", b"\xff")]),
        ({"x": "\u0001"}, pa.struct([pa.field("x", pa.binary(1))]), {"x": b"\x01"}),
        (7, UNION, {"member0": 7, "member1": None}),
        (["a"], UNION, {"member0": None, "member1": ["a"]}),
    ],
)
def test_default(default: object, kind: pa.DataType, expected: Any) -> None:
    found = pa.scalar(default_scalar(default, kind), kind).as_py()
    assert found == expected or (expected is None and found != found)  # noqa: PLR0124 - NaN


@pytest.mark.parametrize(
    ("default", "kind"),
    [
        ("x", pa.int32()),
        (2**31, pa.int32()),
        ("\u0100", pa.binary()),
        ("abc", pa.binary(2)),
        ("\u007f\u007f", pa.decimal128(2, 0)),
        (1.5, UNION),
        ("nan?", pa.float64()),
    ],
)
def test_default_of_another_type(default: object, kind: pa.DataType) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text
        default_scalar(default, kind)
