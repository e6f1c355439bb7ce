"""Topic names print as they are parsed, and are partitions by Pulsar's own rule."""

from __future__ import annotations

import unicodedata

from hypothesis import assume, example, given, strategies as st
from property.topic_name_strategies import ANY_TEXTS, LOCALS, NAME_PARTS

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, TopicPartition

_SUFFIX = "-partition-"
NAMES = st.builds(
    TopicName,
    st.sampled_from(["persistent", "non-persistent"]),
    st.builds(Namespace, NAME_PARTS, NAME_PARTS),
    LOCALS,
)


def _pulsars_index(local: str) -> int:
    """`TopicName.getPartitionIndex` of Pulsar 4.0.8: what Java's parseInt reads, if it has as many digits as that."""
    _, separator, text = local.rpartition(_SUFFIX)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if (
        not separator
        or not digits
        or any(len(d.encode("utf-16-le")) > 2 or unicodedata.category(d) != "Nd" for d in digits)
    ):
        return -1
    index = int(text)
    return index if 0 <= index < 2**31 and len(str(index)) == len(text) else -1


@given(NAMES)
def test_a_name_prints_as_it_is_parsed(name: TopicName) -> None:
    assert TopicName.parse(str(name)) == name
    partition = TopicPartition.parse(str(name))
    assert partition.name == str(name)
    assert partition.as_topic == name


@given(st.text(max_size=3), st.sampled_from(["", "+", "-", "0"]), st.integers(0, 2**33), st.text(max_size=1))
@example("x", "", 2**31, "")
@example("x", "", 0, "\u0663")
def test_a_partition_is_one_by_pulsars_rule(before: str, sign: str, index: int, behind: str) -> None:
    local = f"{before}{_SUFFIX}{sign}{index}{behind}"
    try:
        name = TopicName.parse(f"persistent://a/b/{local}")
    except TopicNameError:
        assume(condition=False)
    # Digits of other scripts make an independent topic here: they are no partition of the partitioned topic.
    assert name.partition == (_pulsars_index(local) if local.rpartition(_SUFFIX)[2].isascii() else -1)


@given(ANY_TEXTS)
def test_an_invalid_name_is_refused_with_a_reason(text: str) -> None:
    try:
        name = TopicName.parse(text)
    except TopicNameError as fault:
        told = str(fault)
    else:
        told = ""
        assert str(name).endswith(text)
    assert told.isprintable()
