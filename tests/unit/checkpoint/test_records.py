"""Records of the index log: bytes and back, and every damage is seen."""

import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar.checkpoint.index.records import VERSION, Kind, Record, decode, encode
from pyspark_pulsar.codec.digests import crc32c
from pyspark_pulsar.errors import CheckpointLost, UnsupportedEntryError

places = st.none() | st.tuples(st.integers(0, 2**60), st.integers(0, 2**60))
records = st.builds(
    Record,
    kind=st.sampled_from(Kind),
    id=st.text("0123456789abcdef", min_size=16, max_size=16),
    owner=st.text(),
    time_ms=st.integers(0, 2**50),
    seen=places,
    anchor=places,
    details=st.fixed_dictionaries({}, optional={"path": st.text(), "chunks": st.lists(st.integers())}),
    body=st.binary(max_size=300),
)


def test_crc32c_is_the_published_one() -> None:
    # RFC 3720, B.4
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"") == 0


@given(records)
def test_bytes_and_back(record: Record) -> None:
    assert decode(encode(record), "here") == record


@given(records, st.data())
def test_each_damage_is_seen(record: Record, data: st.DataObject) -> None:
    whole = encode(record)
    place = data.draw(st.integers(0, len(whole) * 8 - 1))
    damaged = bytearray(whole)
    damaged[place // 8] ^= 1 << (place % 8)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    for wrong in (bytes(damaged), cut):
        with pytest.raises(CheckpointLost, match="topic x, message 1:2"):
            decode(wrong, "topic x, message 1:2")


def test_later_versions_and_kinds_are_refused_by_name() -> None:
    record = Record(Kind.PUT, "0" * 16, "o", 1, None, None)
    whole = bytearray(encode(record)[:-4])
    whole[4] = VERSION + 1
    later = bytes(whole) + crc32c(bytes(whole)).to_bytes(4, "big")
    with pytest.raises(UnsupportedEntryError, match=f"version {VERSION + 1}"):
        decode(later, "here")
    text = encode(record)[:-4].replace(b'"PUT"', b'"NEW"')
    with pytest.raises(UnsupportedEntryError, match="NEW"):
        decode(text + crc32c(text).to_bytes(4, "big"), "here")
