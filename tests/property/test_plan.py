"""Whatever the bounds: splits cover each partition's range once, and offsets survive their text form."""

import json

from hypothesis import given, strategies as st

from pyspark_pulsar.message_id import EARLIEST, Position
from pyspark_pulsar.read.offset import StreamOffset
from pyspark_pulsar.read.plan import plan_splits
from pyspark_pulsar.topic import TopicPartition

positions = st.one_of(
    st.just(EARLIEST), st.builds(Position, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
)
partitions = st.builds(
    lambda name, index: TopicPartition.parse(name if index < 0 else f"{name}-partition-{index}"),
    st.sampled_from(["a", "tenant/ns/b", "persistent://x/y/Zoë.1"]),
    st.integers(-1, 3),
)
bounds = st.dictionaries(partitions, positions, max_size=6)


@given(starts=bounds, ends=bounds)
def test_splits_cover_each_range_once(starts: dict, ends: dict) -> None:
    splits = plan_splits(starts, ends)
    covered = {split.partition: (split.start, split.end) for split in splits}
    assert len(covered) == len(splits)
    for partition in starts.keys() & ends.keys():
        if starts[partition] < ends[partition]:
            assert covered.pop(partition) == (starts[partition], ends[partition])
    assert not covered


@given(reached=bounds, starts=bounds)
def test_offsets_round_trip(reached: dict, starts: dict) -> None:
    offset = StreamOffset(reached, starts)
    assert StreamOffset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


@given(first=positions, second=positions)
def test_text_form_keeps_order(first: Position, second: Position) -> None:
    assert (first < second) == (Position.parse(str(first)) < Position.parse(str(second)))
