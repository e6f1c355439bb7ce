import pyarrow as pa
import pytest

from pyspark_pulsar.schema.avro.to_arrow import list_of, map_of
from pyspark_pulsar.schema.write.compatibility import record_mismatches, scalar_fits


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.int8(), pa.int32()),
        (pa.int32(), pa.int64()),
        (pa.int16(), pa.float32()),
        (pa.int32(), pa.float64()),
        (pa.float32(), pa.float64()),
        (pa.decimal128(5, 2), pa.decimal128(7, 3)),
        (pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="UTC")),
        (pa.timestamp("us"), pa.timestamp("ms")),
        (pa.time64("ns"), pa.time32("ms")),
        (pa.binary(), pa.binary(8)),
    ],
)
def test_widening_fits_and_narrowing_does_not(given: pa.DataType, wanted: pa.DataType) -> None:
    assert scalar_fits(given, wanted)
    if not pa.types.is_temporal(given):
        assert not scalar_fits(wanted, given)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.int64(), pa.float64()),
        (pa.int32(), pa.float32()),
        (pa.string(), pa.binary()),
        (pa.int64(), pa.timestamp("us", tz="UTC")),
        (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
        (pa.bool_(), pa.int32()),
        (pa.decimal128(5, 2), pa.decimal128(5, 3)),
        (pa.date32(), pa.timestamp("us")),
    ],
)
def test_lossy_or_foreign_does_not_fit(given: pa.DataType, wanted: pa.DataType) -> None:
    assert not scalar_fits(given, wanted)


def test_nested_mismatches_carry_their_path() -> None:
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    target = pa.schema(
        [
            pa.field("s", inner),
            pa.field("l", list_of(inner, nullable=True)),
            pa.field("m", map_of(pa.int32(), nullable=True)),
        ]
    )
    wrong = pa.struct([pa.field("y", pa.int32())])
    columns = pa.schema(
        [
            ("s", wrong),
            ("l", list_of(pa.struct([pa.field("x", pa.int64())]), nullable=True)),
            ("m", map_of(pa.string(), nullable=True)),
        ]
    )
    assert list(record_mismatches(columns, target)) == [
        "s.y is not in the topic's schema; check the name",
        "s.x (int) is required by the topic's schema and missing; add it",
        "l[].x is bigint, the topic's schema needs int; cast it to int",
        "m{} is string, the topic's schema needs int; cast it to int",
    ]
