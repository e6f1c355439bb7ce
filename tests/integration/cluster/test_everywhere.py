"""Topics whose ledgers are in all locations: each reader returns exactly the rows of the broker's reader."""

from __future__ import annotations

import base64
import random
from collections import Counter

import pytest
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.cluster import everywhere as places
from integration.cluster.everywhere import PARTED, PARTITIONS, PLAIN, Everywhere
from integration.cluster.ranges import Row, as_row, planned, position_options, rows_by_partition
from integration.official import SPECIAL_MESSAGES, JavaClient
from pyspark.sql import SparkSession

from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.read.split import Split

CASES = 60


def locations(splits: list[Split]) -> Counter[str]:
    return Counter(split_range.location.name for split in splits for split_range in split.ranges)


@pytest.mark.parametrize("topic", [PLAIN, PARTED], ids=["plain", "partitioned"])
@pytest.mark.parametrize("read_from", ["auto", "broker"])
def test_whole_topics(read_from: str, topic: str, everywhere: Everywhere, cluster: PulsarCluster) -> None:
    options = everywhere.options(cluster, topic, readFrom=read_from)
    splits = planned(options)
    used = {"broker"} if read_from == "broker" else {"tiered", "bookie", "broker"}
    assert locations(splits).keys() == used
    expected = {name: rows for name, rows in everywhere.rows.items() if name.startswith(topic)}
    assert rows_by_partition(options, splits) == expected


def test_spark_gives_the_same(everywhere: Everywhere, cluster: PulsarCluster, spark: SparkSession) -> None:
    options = everywhere.options(cluster, PARTED, maxBytesPerPartition="80000")
    frame = spark.read.format("pulsar").options(**options).load()
    assert frame.rdd.getNumPartitions() > 12
    found = sorted(map(as_row, frame.toArrow().to_pylist(maps_as_pydicts="strict")), key=_by_place)
    expected = [row for name in PARTITIONS[1:] for row in everywhere.rows[name]]
    assert found == sorted(expected, key=_by_place)


def _by_place(row: Row) -> tuple[int, Position]:
    return row[1]["__messageId"]["partition"], row[0]


@pytest.mark.parametrize(
    ("read_from", "where"),
    [("tiered", [places.BUCKET]), ("bookie", [places.TWO_BOOKIES, places.THREE_BOOKIES])],
)
def test_one_place_alone(
    read_from: str, where: list[str], everywhere: Everywhere, cluster: PulsarCluster
) -> None:
    """`readFrom` names the only place for closed ledgers."""
    for name in PARTITIONS:
        ledgers = everywhere.ledgers(name, *where)
        start, end = Position(ledgers[0], 0), Position(ledgers[-1] + 1, 0)
        bounds = position_options({name: start}, {name: end})
        options = everywhere.options(cluster, name, readFrom=read_from) | bounds
        splits = planned(options)
        assert locations(splits).keys() == {read_from}
        assert rows_by_partition(options, splits) == {name: everywhere.between(name, start, end)}


def test_any_range_in_any_cuts(everywhere: Everywhere, cluster: PulsarCluster, rng: random.Random) -> None:
    """The union of the splits is the range, once, whatever the limits are; most ranges cross places."""
    seen: Counter[str] = Counter()
    for _ in range(CASES):
        name = rng.choice(PARTITIONS)
        start, end = sorted(random_position(rng, everywhere, name) for _ in range(2))
        bounds = position_options({name: start}, {name: end})
        options = everywhere.options(cluster, name, readFrom=rng.choice(["auto", "auto", "broker"]))
        options |= bounds | random_limits(rng)
        splits = planned(options)
        seen += locations(splits)
        expected = everywhere.between(name, start, end)
        found = rows_by_partition(options, splits).get(name, [])
        assert found == expected, (name, str(start), str(end), splits)
    assert seen.keys() == {"tiered", "bookie", "broker"}


def random_position(rng: random.Random, everywhere: Everywhere, name: str) -> Position:
    """Draw a position: a message, one in a batch or after it, the end of a ledger, or the beginning."""
    shape = rng.random()
    if shape < 0.05:
        return EARLIEST
    found, _ = rng.choice(everywhere.rows[name])
    if shape < 0.5:
        return found
    if shape < 0.65:
        return Position(found.ledger, found.entry)
    if shape < 0.8:
        return Position(found.ledger, found.entry, found.batch_index + 1)
    closed = found.ledger != everywhere.ledgers(name, places.OPEN)[-1]
    return Position(found.ledger, 10_000) if closed else Position(found.ledger, 0)


def random_limits(rng: random.Random) -> dict[str, str]:
    limits: dict[str, str] = {}
    if rng.random() < 0.4:
        limits["minPartitions"] = str(rng.randrange(1, 30))
    if rng.random() < 0.3:
        limits["maxRecordsPerPartition"] = str(rng.choice([170, 1000, 10_000]))
    if rng.random() < 0.5:
        limits["maxBytesPerPartition"] = str(rng.randrange(1_000, 200_000))
    return limits


def test_any_time_window(everywhere: Everywhere, cluster: PulsarCluster, rng: random.Random) -> None:
    """Exact by the publish time of each message, start inclusive and end exclusive."""
    for _ in range(CASES // 3):
        topic = rng.choice([PLAIN, PARTED])
        expected = {name: rows for name, rows in everywhere.rows.items() if name.startswith(topic)}
        times = sorted(_milliseconds(row) for rows in expected.values() for row in rows)
        begin, end = sorted((rng.choice(times), rng.choice(times) + 1))
        options = everywhere.options(cluster, topic, clockSlackMs=rng.choice(["5000", "600000"]))
        options |= {"startingTimestamp": str(begin), "endingTimestamp": str(end)} | random_limits(rng)
        wanted = {
            name: kept
            for name, rows in expected.items()
            if (kept := [row for row in rows if begin <= _milliseconds(row) < end])
        }
        found = {name: rows for name, rows in rows_by_partition(options).items() if rows}
        assert found == wanted, (topic, begin, end)


def _milliseconds(row: Row) -> int:
    return round(row[1]["__publishTime"].timestamp() * 1000)


def test_the_broker_reader_agrees_with_the_java_reader(
    everywhere: Everywhere, cluster: PulsarCluster
) -> None:
    """The official client confirms the reference of these tests, which is otherwise only this package's own."""
    java = JavaClient(cluster, SPECIAL_MESSAGES)
    job = {"do": "read", "topic": PLAIN, "privateKeys": {"one": everywhere.keys.private}}
    theirs = [
        (
            Position(row["ledger"], row["entry"], max(row["batchIndex"], 0)),
            None if row["value"] is None else base64.b64decode(row["value"]),
            row["properties"],
        )
        for row in java.run(job)[0]
    ]
    ours = [(place, cells["value"], cells["__messageProperties"]) for place, cells in everywhere.rows[PLAIN]]
    assert ours == theirs
