"""`startingOffsets` (inclusive) and `endingOffsets` (exclusive), down to the message inside an entry."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, messages_of

from pyspark_pulsar.model.position import Position
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_reader import PulsarBatchReader
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.tools.standalone import LocalPulsar

PARTITIONS = 2
MESSAGES = 1_200

Ids = list[tuple[int, int, int]]
Whole = dict[str, Ids]


@pytest.fixture
def whole(topic: str, rng: random.Random, official: official_client.Client, admin: Admin) -> Whole:
    """Map each partition to its message ids, batched and unbatched, as read by the official Reader."""
    admin.create_partitioned(topic, PARTITIONS)
    for batched in (True, False, True):
        producer = official.create_producer(
            topic, batching_enabled=batched, batching_max_messages=37, block_if_queue_full=True
        )
        for number in range(MESSAGES // 3):
            producer.send_async(
                str(number).encode(), callback=lambda *_: None, partition_key=f"k{number % 9}"
            )
        producer.flush()
        producer.close()
    ids: Whole = {f"{topic}-partition-{index}": [] for index in range(PARTITIONS)}
    for message in messages_of(official, topic):
        found = message.message_id()
        ids[message.topic_name()].append((found.ledger_id(), found.entry_id(), found.batch_index()))
    assert all(ids.values())
    assert max(index for each in ids.values() for _, _, index in each) > 5
    return ids


def bound(ids: Whole, cuts: dict[str, int]) -> str:
    """Return the JSON for the position of message number `cuts[partition]` in each partition.

    A cut after the last message is the next entry's position.
    """

    def position(name: str, cut: int) -> str:
        if cut == len(ids[name]):
            ledger, entry, _ = ids[name][-1]
            return f"{ledger}:{entry + 1}"
        ledger, entry, index = ids[name][cut]
        return f"{ledger}:{entry}:{max(0, index)}"

    return json.dumps({name: position(name, cut) for name, cut in cuts.items()})


def random_cuts(
    rng: random.Random, ids: Whole, number: int
) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Yield consecutive ranges of message numbers that cover every partition."""
    inner = {name: sorted(rng.choices(range(len(each) + 1), k=number)) for name, each in ids.items()}
    cuts = {name: [0, *inner[name], len(ids[name])] for name in ids}
    for index in range(number + 1):
        yield (
            {name: cut[index] for name, cut in cuts.items()},
            {name: cut[index + 1] for name, cut in cuts.items()},
        )


def ids_of(rows: list[dict[str, int]], topic: str) -> Whole:
    found: Whole = {f"{topic}-partition-{index}": [] for index in range(PARTITIONS)}
    for row in rows:
        found[f"{topic}-partition-{row['partition']}"].append(
            (row["ledger"], row["entry"], row["batchIndex"])
        )
    return found


def test_ranges_between_random_cuts_read_each_row_once(
    topic: str, whole: Whole, rng: random.Random, read_topic: ReadTopic
) -> None:
    for start, end in random_cuts(rng, whole, 3):
        offsets = {"startingOffsets": bound(whole, start), "endingOffsets": bound(whole, end)}
        rows = read_topic(topic, **offsets).select("__messageId.*").collect()
        found = ids_of([row.asDict() for row in rows], topic)
        assert found == {name: whole[name][start[name] : end[name]] for name in whole}, offsets


def test_many_random_cuts_without_spark(
    topic: str, whole: Whole, rng: random.Random, pulsar: LocalPulsar
) -> None:
    options = {"service.url": pulsar.service_url, "topic": topic, "batchRows": "100"}
    schema = resolve_source_schema(parse_options(ReadOptions, options))
    for start, end in random_cuts(rng, whole, 40):
        offsets = {"startingOffsets": bound(whole, start), "endingOffsets": bound(whole, end)}
        reader = PulsarBatchReader(parse_options(ReadOptions, options | offsets), schema)
        batches = [batch for split in reader.partitions() for batch in reader.read(split)]
        rows = [row for batch in batches for row in batch.column("__messageId").to_pylist()]
        assert ids_of(rows, topic) == {name: whole[name][start[name] : end[name]] for name in whole}, offsets


def test_start_is_inclusive_and_end_exclusive_inside_an_entry(
    topic: str, whole: Whole, read_topic: ReadTopic
) -> None:
    start = {name: next(i for i, each in enumerate(ids) if each[2] == 3) for name, ids in whole.items()}
    offsets = {
        "startingOffsets": bound(whole, start),
        "endingOffsets": bound(whole, {name: cut + 1 for name, cut in start.items()}),
    }
    rows = read_topic(topic, **offsets).select("__messageId.*").collect()
    assert ids_of([row.asDict() for row in rows], topic) == {
        name: [whole[name][start[name]]] for name in whole
    }


def test_earliest_latest_and_json_can_be_mixed(topic: str, whole: Whole, read_topic: ReadTopic) -> None:
    first, second = whole
    cut = len(whole[first]) // 2
    starts = json.loads(bound(whole, {first: cut})) | {second: "earliest"}
    ends = {first: "latest", second: "latest"}
    found = read_topic(topic, startingOffsets=json.dumps(starts), endingOffsets=json.dumps(ends))
    assert found.count() == len(whole[first]) - cut + len(whole[second])
    assert read_topic(topic, startingOffsets="latest").count() == 0
    assert read_topic(topic, startingOffsets="earliest", endingOffsets="latest").count() == MESSAGES


def test_one_of_the_partitions_is_read_by_its_own_name(
    topic: str, whole: Whole, read_topic: ReadTopic
) -> None:
    name = next(iter(whole))
    rows = read_topic(name).select("__messageId.*").collect()
    assert [(row.ledger, row.entry, row.batchIndex) for row in rows] == whole[name]


def test_positions_are_ordered_like_messages(whole: Whole) -> None:
    for ids in whole.values():
        positions = [Position(ledger, entry, max(0, index)) for ledger, entry, index in ids]
        assert positions == sorted(set(positions))
