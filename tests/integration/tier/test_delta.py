"""Tables in the Delta format: reads and changes by other engines, two concurrent tierers, and tierers that
are killed.
"""

from __future__ import annotations

import datetime as dt
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable
from fixtures.cluster import object_store
from fixtures.columnar import (
    IDENTIFIER,
    add_ledger,
    definition,
    ledgers,
    loaded,
    positions_after,
    rows_of,
    written,
)
from fixtures.http_gate import AnswerLost, HttpGate, Request
from integration.tier.conftest import ENTRIES, Tier, on_delta, s3_settings
from pulsar.schema import AvroSchema

from pyspark_pulsar.history.columnar.delta.table import DeltaFolder
from pyspark_pulsar.history.columnar.layout import PartitionField
from pyspark_pulsar.history.columnar.table import TableMoved
from pyspark_pulsar.history.tiering.commit import RoundResult
from pyspark_pulsar.history.tiering.definition import TableSettings
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.upkeep import keep_up
from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters, WriteTask, WrittenSplit
from pyspark_pulsar.model.topic import TopicName

Same = Callable[..., pa.Table]

PROGRAM = Path(__file__).parents[2] / "programs" / "commit_columns.py"


ORDER = {
    "type": "record", "name": "Order", "fields": [
        {"name": "item", "type": ["null", "string"]},
        {"name": "amount", "type": "int"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 3}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "moment", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "ratio", "type": ["null", "double"]},
        {"name": "point", "type": {"type": "record", "name": "Point", "fields": [
            {"name": "x", "type": ["null", "int"]}, {"name": "tags", "type": {"type": "array", "items": "string"}},
        ]}},
        {"name": "visits", "type": {"type": "map", "values": {
            "type": "long", "logicalType": "local-timestamp-micros",
        }}},
    ],
}  # fmt: skip
SEEN_BY_ALL = "item,amount,price,day,moment,local,ratio,point,__partition,__messageId,__publishTime"
"""The columns for which all engines return the same Python values. Engines differ for maps and for times of day."""


def order(number: int) -> dict[str, Any]:
    moment = dt.datetime(2026, 1, 31, tzinfo=dt.UTC) + dt.timedelta(hours=number, microseconds=1)
    return {
        "item": None if number % 5 == 0 else f"{number % 3} ä/b=%",
        "amount": number,
        "price": Decimal(number) / 8,
        "day": moment.date(),
        "at": moment.time(),
        "moment": moment,
        "local": moment.replace(tzinfo=None),
        "ratio": (None, 0.5, -1e300)[number % 3],
        "point": {"x": number if number % 2 else None, "tags": [str(number)] * (number % 3)},
        "visits": {"first": moment.replace(tzinfo=None)} if number % 2 else {},
    }


def send_orders(tier: Tier, numbers: range) -> None:
    producer = tier.official.create_producer(
        tier.topic, schema=AvroSchema(None, schema_definition=ORDER), block_if_queue_full=True,
        batching_enabled=True, batching_max_messages=7,
    )  # fmt: skip
    for number in numbers:
        producer.send_async(order(number), lambda *_: None, partition_key=f"k{number % 7}")
    producer.flush()
    producer.close()


# Reads by other engines


@on_delta
def test_other_engines_read_the_same_rows(tier: Tier, same: Same) -> None:
    tier.admin.create_partitioned(tier.topic, 2)
    fields = tuple(
        map(PartitionField.parse, ("day(__publishTime)", "item", "__partition", "hour(__publishTime)"))
    )
    send_orders(tier, range(1000))
    tier.run(TableSettings(fields, ("amount",)))
    assert "columns" in tier.places()
    assert same().num_rows == 1000
    ours = tier.rows(readFrom="columns", columns=SEEN_BY_ALL)
    assert ours.num_rows > 500
    assert same(columns="__partition,item,amount,__key").num_rows == 1000
    url = tier.table.name
    delta = DeltaTable(url)
    dataset = delta.to_pyarrow_dataset()
    chosen = ", ".join(ours.column_names)
    seen = {
        "delta-rs": pa.table(delta.scan(columns=ours.column_names).read_all()).to_pylist(),
        "polars": pl.scan_delta(url).select(ours.column_names).collect().to_dicts(),
        "duckdb": duckdb.query(f"select {chosen} from dataset").to_arrow_table().to_pylist(),
    }
    assert dataset.count_rows() == ours.num_rows
    expected = in_order(ours.to_pylist())
    for engine, rows in seen.items():
        assert in_order(rows) == expected, engine
    day = ours["__publishTime"][0].as_py().date()
    assert pl.scan_delta(url).filter(pl.col("publishTime_day") == day).collect().height > 0


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = ("partition", "ledger", "entry", "batchIndex")
    return sorted(rows, key=lambda row: [row["__messageId"][key] for key in keys])


def test_a_table_in_an_object_store_is_tiered_and_read(tier: Tier, endpoint: str, same: Same) -> None:
    path = f"s3://{object_store.BUCKET}/{tier.topic.split('/')[3]}"
    tier.catalog = {"type": "delta", "path": path, **s3_settings(endpoint)}
    send_orders(tier, range(300))
    tier.run(TableSettings((PartitionField.parse("item"),), ("amount",)))
    send_orders(tier, range(300, 500))
    assert tier.run().rows > 0
    done = keep_up(tier.table, expire_after=0)
    assert done.compacted > done.made > 0
    assert same().num_rows == 500
    send_orders(tier, range(500, 600))
    assert tier.run().rows > 0
    assert "columns" in tier.places()
    assert same().num_rows == 600
    table: Any = tier.table
    place = table._state.location
    assert not {file.url for file in tier.table.files()} - tier.table.known_urls()
    storage = {name: value for name, value in place.options.items() if name.startswith("aws_")}
    seen = pl.scan_delta(place.url, storage_options=storage).select("item", "amount").collect()
    expected = tier.rows(readFrom="columns", columns="item,amount").to_pylist()
    assert sorted(map(str, seen.to_dicts())) == sorted(map(str, expected))
    DeltaTable(place.url, storage_options=dict(place.options)).optimize.compact()
    assert same().num_rows == 600
    folder = DeltaFolder.open(tier.catalog)
    identifier = ".".join(place.url.split("/")[-2:])
    assert folder.present([identifier, "ns.t"]) == {identifier}
    assert folder.drop(identifier, keep_files=True)
    assert folder.load(identifier) is None


# Changes by other engines between runs


@on_delta
def test_other_engines_may_compact_and_vacuum_between_rounds(tier: Tier, same: Same) -> None:
    tier.admin.create_partitioned(tier.topic, 2)
    for number in range(3):
        tier.send(
            range(number * 400, (number + 1) * 400), batching_enabled=number == 1, batching_max_messages=5
        )
        assert tier.run().rows > 0
        delta = DeltaTable(tier.table.name)
        if number == 0:
            delta.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
        elif number == 1:
            delta.optimize.z_order(["__key"])
        else:
            delta.optimize.compact()
        DeltaTable(tier.table.name).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
        delta = DeltaTable(tier.table.name)
        delta.create_checkpoint()
        time.sleep(0.01)
        delta.cleanup_metadata()
        assert same().num_rows == (number + 1) * 400
        assert tier.run().rows == 0
    everything = tier.rows(readFrom="broker")
    for index in range(2):
        tier.admin.trim(f"{tier.topic}-partition-{index}", to_ledgers=1)
    tier.admin.keep_for(tier.topic, minutes=-1)
    assert tier.rows().equals(everything)


# Two concurrent tierers


class Meeting(ProcessWriters):
    """Writers that wait for the other tierer after they wrote files, so that both commit to the same table
    state.
    """

    def __init__(self, barrier: threading.Barrier) -> None:
        super().__init__(1)
        self._barrier = barrier

    def write(self, tasks: Sequence[WriteTask]) -> list[WrittenSplit]:
        splits = super().write(tasks)
        self._barrier.wait(60)
        return splits


def meet(tier: Tier) -> list[RoundResult]:
    """Run one round of each of two tierers at the same time."""
    barrier, results = threading.Barrier(2), queue.Queue[RoundResult | Exception]()

    def run() -> None:
        try:
            tier_round = TierRound(tier.options(), TableSettings(), Meeting(barrier))
            results.put(tier_round.run(TopicName.parse(tier.topic)))
        except Exception as fault:  # noqa: BLE001 - raised where the test waits
            results.put(fault)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    outcomes = [results.get(timeout=1) for _ in range(2)]
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, RoundResult)]


@on_delta
def test_only_one_of_two_tierers_commits(tier: Tier, same: Same) -> None:
    tier.send(range(ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    for number in range(1, 4):
        tier.send(range(number * 3 * ENTRIES, (number + 1) * 3 * ENTRIES), batching_enabled=False)
        results = meet(tier)
        assert sorted(result.is_lost_race for result in results) == [False, True]
        assert same().num_rows == ENTRIES + number * 3 * ENTRIES


@on_delta
def test_retries_of_delta_rs_would_repeat_rows(
    tier: Tier, same: Same, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show as a control of the previous test that retries of delta-rs let both commits through."""
    monkeypatch.setattr(
        "pyspark_pulsar.history.columnar.delta.commit.commit_properties",
        lambda information, _: CommitProperties(custom_metadata=dict(information)),
    )
    tier.send(range(ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    tier.send(range(ENTRIES, 4 * ENTRIES), batching_enabled=False)
    results = meet(tier)
    assert [result.is_lost_race for result in results] == [False, False]
    assert sum(file.rows for file in tier.table.files()) > 4 * ENTRIES


# Kills in the middle of a commit, and lost responses


@pytest.fixture
def gate(endpoint: str) -> Iterator[HttpGate]:
    with HttpGate(endpoint, lambda _: None) as gate:
        yield gate


def is_commit(request: Request, *, is_answered: bool) -> bool:
    return request.method == "PUT" and request.path.endswith(".json") and request.is_answered == is_answered


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_tierer_killed_in_a_commit_leaves_all_or_nothing(
    is_answered: bool, gate: HttpGate, endpoint: str, tmp_path: Path
) -> None:
    """A tierer killed before or after the store has its commit leaves files and positions together, or
    neither.
    """
    path = f"s3://{object_store.BUCKET}/killed-{is_answered}"
    folder = DeltaFolder.open({"type": "delta", "path": path, **s3_settings(endpoint)})
    table = folder.create(IDENTIFIER, definition())
    add_ledger(table, 1)
    job = tmp_path / "job"
    through_gate = {"type": "delta", "path": path, **s3_settings(gate.endpoint)}
    job.write_bytes(pickle.dumps((through_gate, IDENTIFIER, written(table, rows_of(2)), positions_after(2))))
    reached, is_dead = threading.Event(), threading.Event()

    def watch(request: Request) -> None:
        if is_commit(request, is_answered=is_answered):
            reached.set()
            is_dead.wait(60)
            raise AnswerLost

    gate.watch = watch
    with subprocess.Popen([sys.executable, PROGRAM, job]) as tierer:
        assert reached.wait(60)
        tierer.send_signal(signal.SIGKILL)
        tierer.wait(60)
        is_dead.set()
    after = loaded(folder)
    assert after.positions == positions_after(2 if is_answered else 1)
    assert s3_values(after) == ledgers(1, 2) if is_answered else ledgers(1)
    if not is_answered:
        add_ledger(after, 2)
    add_ledger(loaded(folder), 3)
    assert s3_values(loaded(folder)) == ledgers(1, 2, 3)


def test_the_store_accepts_one_of_two_concurrent_commits(gate: HttpGate, endpoint: str) -> None:
    """Two writers see the same state of the log; the store accepts the next log entry of one of them."""
    path = f"s3://{object_store.BUCKET}/at-once"
    folder = DeltaFolder.open({"type": "delta", "path": path, **s3_settings(gate.endpoint)})
    add_ledger(folder.create(IDENTIFIER, definition()), 1)
    tables = [loaded(folder) for _ in range(2)]
    files = [written(table, rows_of(2)) for table in tables]
    both, arrivals, outcomes = threading.Barrier(2), iter(range(2)), queue.Queue[str]()

    def watch(request: Request) -> None:
        if is_commit(request, is_answered=False) and next(arrivals, None) is not None:
            both.wait(60)

    def commit(number: int) -> None:
        try:
            tables[number].commit(files[number], positions_after(2))
            outcomes.put("done")
        except TableMoved:
            outcomes.put("moved")

    gate.watch = watch
    threads = [threading.Thread(target=commit, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(outcomes.queue) == ["done", "moved"]
    direct = DeltaFolder.open({"type": "delta", "path": path, **s3_settings(endpoint)})
    assert s3_values(loaded(direct)) == ledgers(1, 2)


def test_a_commit_whose_response_is_lost(gate: HttpGate, endpoint: str) -> None:
    """delta-rs sends the commit again, gets "already exists", and treats the commit as another writer's."""
    path = f"s3://{object_store.BUCKET}/lost"
    folder = DeltaFolder.open({"type": "delta", "path": path, **s3_settings(gate.endpoint)})
    table = folder.create(IDENTIFIER, definition())
    lost: list[str] = []

    def watch(request: Request) -> None:
        if is_commit(request, is_answered=True) and not lost:
            lost.append(request.path)
            raise AnswerLost

    gate.watch = watch
    add_ledger(table, 1)
    assert len(lost) == 1
    assert table.positions == positions_after(1)
    add_ledger(table, 2)
    direct = DeltaFolder.open({"type": "delta", "path": path, **s3_settings(endpoint)})
    assert s3_values(loaded(direct)) == ledgers(1, 2)


def s3_values(table: Any) -> list[int]:
    delta = deltalake.DeltaTable(table.name, storage_options=dict(table._state.location.options))
    return sorted(pa.table(delta.scan(columns=["value"]).read_all())["value"].to_pylist())
