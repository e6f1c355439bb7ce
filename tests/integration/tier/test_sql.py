"""Catalog tables in SQL: Spark's own Parquet scan of a topic's table returns the same rows as the data
source.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from integration.tier.conftest import in_sql, new_tier
from integration.tier.sql_table import (
    METADATA,
    SqlTable,
    cells,
    files_read,
    numbered,
    plan,
    pushed,
    scans,
    write,
    write_on,
)
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar import history_and_live
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.tools.standalone import LocalPulsar

DAYS = [dt.datetime(2026, 1, day, 8, tzinfo=dt.UTC) for day in (1, 2, 3, 5)]
FILES = 2 * len(DAYS)
TIERED, BEHIND = 800, 50
EVERYTHING = ["*", *METADATA]


@pytest.fixture(scope="module")
def days(
    small_ledgers: LocalPulsar, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlTable]:
    """Yield four days in two partitions, tiered, with some rows after the end of the table. Tests must not
    change it.
    """
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        new_tier(small_ledgers, tmp_path_factory.mktemp("days")) as tier,
        in_sql(spark, tier) as sql,
    ):
        _fill(sql, monkeypatch)
        yield sql


def _fill(sql: SqlTable, monkeypatch: pytest.MonkeyPatch) -> None:
    sql.tier.admin.create_partitioned(sql.tier.topic, 2)
    for number, day in enumerate(DAYS):
        write_on(monkeypatch, sql.tier, day, numbered(range(number * 200, number * 200 + 200)))
        sql.tier.roll()
    sql.tier.run()
    write(sql.tier, numbered(range(TIERED, TIERED + BEHIND)))


def test_every_cell(days: SqlTable) -> None:
    for vectorized in ("true", "false"):
        with days.conf("spark.sql.parquet.enableVectorizedReader", vectorized):
            assert len(days.same(lambda frame: frame.selectExpr(*EVERYTHING))) == TIERED + BEHIND
    assert files_read(days.frame()) == [FILES]


FILTERS = {
    # Each condition maps to the number of files that are read, or to None if the number does not matter.
    "id >= 600": 2, "id = 3": 2, "3 = id": 2, "id <= 150": 2, "id < 0": 0, "id is null": 0,
    f"id in ({', '.join(map(str, range(0, 60, 2)))})": 2, "not id = 3": FILES,
    "id < 100 or id > 700": 4, "id < 100 or line.a > 700": FILES, "id > 100 and number = 7": None,
    "number > 9000000000": None, "flag": FILES, "not flag": FILES, "flag is null": 0,
    "name = 'name 00042 ä'": None, "name >= 'name 007'": 2, "name like 'name 000%'": None,
    "ratio > 1000": None, "ratio < 3": FILES, "ratio < -1": FILES,
    "ratio = double('NaN')": None, "ratio = 0": None,
    "ratio in (0.0D, double('NaN'), 1.0D)": None, "ratio >= -0.0D and ratio <= 0.0D": None,
    "isnan(ratio)": None,
    "price > 90": None, "day < DATE'1500-02-01'": 2, "day = DATE'1502-03-01'": 2,
    "happened > TIMESTAMP'2026-03-01 00:00:00.0007Z'": 2, "local < TIMESTAMP_NTZ'1500-03-01 00:00:00'": 2,
    "data = X'05FF'": None, "line.a = 5": FILES, "line.b >= 'b79'": None, "line is null": None,
    "line.deep.c > 250": None, "size(ids) = 0": None, "parts[0].k = 7": None,
    "counts['m'] = 9": None, "maybe is null": FILES, "maybe = 'maybe 5'": None,
    "__key = X'6B31'": None, "__topic like '%partition-1'": None, "__partition = 1": 4,
    "__partition in (0)": 4, "__partition is null": 0, "__messageId.ledger > 0": FILES, "__messageId.ledger < 0": 0,
    "__messageId is null": None,
    "__publishTime < TIMESTAMP'2026-01-02 12:00:00Z'": 4, "__publishTime = TIMESTAMP'2026-01-03 08:00:00Z'": 2,
    "__publishTime is null": 0,
    "__eventTime >= TIMESTAMP'2026-03-01 00:11:00Z'": 2, "__eventTime is null": FILES,
    "__messageProperties['n'] = '5'": None, "__schemaVersion = 0": FILES,
}  # fmt: skip


def test_filters_select_the_same_rows_and_prune_files(days: SqlTable) -> None:
    """Filter the rows of the tier alone, because other tests filter rows of the data source."""
    told = [f"({condition}) AS c{number}" for number, condition in enumerate(FILTERS)]
    plain = days.frame(readFrom="broker").where(f"id < {TIERED}").selectExpr("id", *told).collect()
    alone = days.spark.table(days.columns)
    for number, (condition, files) in enumerate(FILTERS.items()):
        read = alone.where(condition).select("id")
        expected = sorted(row.id for row in plain if row[f"c{number}"])
        assert sorted(row.id for row in read.collect()) == expected, condition
        assert files is None or files_read(read) == [files], condition


def test_one_ledger_is_one_file(days: SqlTable) -> None:
    """Files of other topic partitions may have ledgers from before and after the selected ledger."""
    row = days.frame().where("id = 5").select("__messageId.ledger", "__partition").collect()[0]
    condition = f"__messageId.ledger = {row.ledger} and __partition = {row['__partition']}"
    assert files_read(days.frame().where(condition).select("id")) == [1]
    assert days.same(lambda frame: frame.where(condition).select("id"))


def test_the_plan_has_filters_columns_and_the_table(days: SqlTable) -> None:
    read = days.frame().where("line.a > 700 and __publishTime > TIMESTAMP'2026-01-02 00:00:00Z'")
    told = plan(read.selectExpr("name", "__messageId.ledger", "line.deep.c"))
    assert "FileScan parquet" in told
    assert "Batched: true" in told
    assert "BatchScan" in told
    for condition in (
        "IsNotNull(line.a)",
        "GreaterThan(line.a,700)",
        "GreaterThan(__publishTime,2026-01-02 00:00:00.0)",
    ):
        assert condition in pushed(read)
    (scan,) = scans(read.selectExpr("name", "__messageId.ledger", "line.deep.c"))
    assert json.loads(scan.requiredSchema().json())["fields"] == [
        _field("name", "string"),
        _field("line", _struct(_field("a", "long"), _field("deep", _struct(_field("c", "float"))))),
        _field("__messageId", _struct(_field("ledger", "long"))),
        _field("__publishTime", "timestamp"),
    ]
    location = scan.relation().location().rootPaths().mkString()
    assert location == f"{days.tier.table.name} ({FILES} files)"
    assert ".parquet" not in told


def _field(name: str, kind: object) -> dict[str, object]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _struct(*fields: dict[str, object]) -> dict[str, object]:
    return {"type": "struct", "fields": list(fields)}


TIMES = [
    {"startingTimestamp": "2026-01-02T08:00:00Z", "endingTimestamp": "2026-01-05T08:00:00.001Z"},
    {"startingTimestamp": "2026-01-02T08:00:00.001Z", "endingTimestamp": "2026-01-05T08:00:00Z"},
    {"endingEventTime": "2026-03-01T00:07:00Z"},
]


def test_queries_on_times_equal_the_data_source(days: SqlTable) -> None:
    topic = days.tier.topic
    by_partition = {f"{topic}-partition-{index}": str(DAYS[1 + index].isoformat()) for index in range(2)}
    of_each = [
        {"startingOffsetsByTimestamp": json.dumps(by_partition)},
        {"endingOffsetsByTimestamp": json.dumps({topic: DAYS[2].isoformat()})},
        {
            "endingOffsetsByEventTime": json.dumps(
                by_partition | {f"{topic}-partition-0": "2026-03-01T00:01:00Z"}
            )
        },
        {"startingOffsets": json.dumps(dict.fromkeys(by_partition, "earliest")), "endingOffsets": "latest"},
    ]
    for options in [*TIMES, *of_each]:
        assert days.same(lambda frame: frame.selectExpr("id", "__eventTime"), **options)
        assert scans(days.frame(**options)), options
    assert files_read(days.frame(endingTimestamp=DAYS[1].isoformat())) == [2]
    before = days.spark.sql(f"SELECT id, name FROM {days.name} TIMESTAMP AS OF '2026-01-02 08:00:00'")
    assert files_read(before) == [4]
    assert cells(before) == cells(days.frame(readFrom="broker").where("id < 400").select("id", "name"))


def test_some_queries_are_read_by_the_data_source_alone(days: SqlTable, tmp_path: Path) -> None:
    row = days.frame(readFrom="broker").where("id = 300").selectExpr("__messageId.*").collect()[0]
    name = f"{days.tier.topic}-partition-{row.partition}"
    position = json.dumps({name: f"{row.ledger}:{row.entry}", "*": "earliest"})
    end = json.dumps({name: f"{row.ledger}:{row.entry}", "*": "latest"})
    for options in ({"startingOffsets": position}, {"endingOffsets": end}):
        plain = days.frame(**options, readFrom="broker").select("id", "__messageId")
        assert cells(days.frame(**options).select("id", "__messageId")) == cells(plain), options
    for options in (
        {"startingOffsets": position},
        {"endingOffsets": end},
        {"startingOffsets": "latest"},
        {"auditPath": str(tmp_path)},
        {"readFrom": "bookie"},
        {"readFrom": "broker"},
        {"readCompacted": "true"},
        {"splitBy": "key", "minPartitions": "3"},
    ):
        assert not scans(days.frame(**options)), options


def test_queries_of_all_shapes_equal_the_data_source(days: SqlTable) -> None:
    spark, name = days.spark, days.name
    assert days.frame().count() == TIERED + BEHIND
    assert spark.sql(f"SELECT count(*), sum(id), max(__publishTime) FROM {name}").collect()[0][0] == 850
    assert len(days.frame().limit(7).collect()) == 7
    days.same(lambda frame: frame.groupBy("line.deep", "__key").count())
    days.same(lambda frame: frame.alias("a").join(frame.alias("b"), "id").selectExpr("a.name", "b.number"))
    days.same(lambda frame: frame.selectExpr("explode(ids) AS i", "line.b").where("i > 700"))
    two = spark.sql(f"SELECT * FROM {name} a JOIN {name} b ON a.id = b.number WHERE a.id < 50")
    assert len(scans(two)) == 2
    scalar = spark.sql(f"SELECT id FROM {name} WHERE id = (SELECT max(id) - 100 FROM {name})")
    assert [row.id for row in scalar.collect()] == [749]
    inside = spark.sql(
        f"SELECT count(*) FROM {name} o WHERE id IN (SELECT number + 1 FROM {name} WHERE flag) AND "
        f"EXISTS (SELECT 1 FROM {name} c WHERE c.id = o.id)"
    )
    assert inside.collect()[0][0] == 50
    for mode in ("extended", "formatted"):
        days.frame().where("id > 3").explain(mode)


def test_a_table_with_all_rows_is_one_scan(sql: SqlTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan has only the scan of files, and later rows are read all the same."""
    sql.tier.admin.create_partitioned(sql.tier.topic, 3)
    write_on(monkeypatch, sql.tier, DAYS[0], numbered(range(2)))
    sql.tier.roll()
    sql.tier.run()
    frame = sql.frame().select("id")
    told = plan(frame)
    assert "FileScan parquet" in told
    assert "BatchScan" not in told
    assert sql.same(lambda whole: whole.selectExpr(*EVERYTHING))
    write(sql.tier, numbered(range(2, 5)))
    assert "BatchScan" in plan(sql.frame().select("id"))
    assert frame.count() == 5
    # The topic is emptied before its new rows are tiered: the rows are lost, and the query reports the loss.
    for index in range(3):
        sql.tier.admin.truncate(f"{sql.tier.topic}-partition-{index}")
    sql.tier.roll()
    for index in range(3):
        sql.tier.admin.truncate(f"{sql.tier.topic}-partition-{index}")
    with pytest.raises(AnalysisException, match="DataLossError"):
        sql.frame().collect()


def test_views_and_caches(sql: SqlTable, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(sql, monkeypatch)
    spark = sql.spark
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT id, __key FROM {sql.name} WHERE id > 700")
    assert files_read(spark.table("seen")) == [2]
    assert spark.table("seen").count() == 149
    spark.sql(f"CACHE TABLE kept AS SELECT id, line FROM {sql.name}")
    write(sql.tier, numbered(range(850, 860)))
    assert spark.table("kept").count() == 850
    assert sql.frame().count() == 860
    spark.sql("UNCACHE TABLE kept")
    cached = sql.frame().cache()
    assert cached.count() == cached.where("id is not null").count() == 860
    cached.unpersist()
    # A DataFrame that is used again reads the rows of that time.
    again = sql.frame().where("id >= 800")
    assert again.count() == 60
    write(sql.tier, numbered(range(860, 865)))
    assert again.count() == 65
    spark.catalog.dropTempView("seen")


def test_a_stream_that_joins_the_table(days: SqlTable, tmp_path: Path) -> None:
    static = days.frame().selectExpr("id AS number", "name AS told")
    stream = days.spark.readStream.option("startingOffsets", "earliest").table(days.name).where("id < 90")
    joined = stream.join(static, "number").selectExpr("id", "told")
    query = (
        joined.writeStream.format("memory").queryName("joined").trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path)).start()
    )  # fmt: skip
    query.awaitTermination()
    assert days.spark.table("joined").count() == 90


def test_history_and_live_reads_history_from_the_table(days: SqlTable) -> None:
    both = history_and_live(days.spark, days.name)
    assert scans(both.history)
    assert cells(both.history.select("id")) == cells(days.frame(readFrom="broker").select("id"))


def test_rows_are_copied_from_the_table_to_other_tables(days: SqlTable, tmp_path: Path) -> None:
    read = days.frame().where("id >= 700").select("id", "name", "line")
    read.write.parquet(str(tmp_path / "copy"))
    copied = days.spark.read.parquet(str(tmp_path / "copy"))
    assert cells(copied) == cells(days.frame(readFrom="broker").where("id >= 700").select(*copied.columns))


def test_the_tier_is_read_without_the_topic(days: SqlTable) -> None:
    alone = days.spark.table(days.columns)
    told = plan(alone)
    assert "FileScan parquet" in told
    assert "Union" not in told
    assert "BatchScan" not in told
    plain = days.frame(readFrom="broker").where(f"id < {TIERED}").selectExpr(*EVERYTHING)
    assert cells(alone.selectExpr(*EVERYTHING)) == cells(plain)
    as_source = days.frame(readFrom="columns")
    assert cells(as_source.select("id")) == cells(alone.select("id"))
    limited = days.spark.read.option("startingTimestamp", DAYS[3].isoformat()).table(days.columns)
    assert limited.count() == 200
    with pytest.raises(AnalysisException, match="no option 'readfrom'"):
        days.spark.read.option("readFrom", "broker").table(days.columns).collect()
    with pytest.raises(AnalysisException):
        days.spark.sql(f"INSERT INTO {days.columns} SELECT * FROM {days.name} LIMIT 1")
    assert days.spark.sql(f"DESCRIBE TABLE EXTENDED {days.columns}").count() > len(alone.columns)


def test_the_state_of_the_tier_is_a_table(days: SqlTable) -> None:
    rows = days.spark.table(f"{days.namespace}.`{days.topic}$tier`").orderBy("partition").collect()
    assert [row.partition for row in rows] == [0, 1]
    for row in rows:
        assert (row.topic, row.table, row.format) == (days.tier.topic, days.tier.table.name, "iceberg")
        assert (row.rows, row.files, row.ledgers_behind, row.seconds_behind) == (TIERED, FILES, 0, 0.0)
        assert row.bytes_behind > 0
        assert row.end == str(days.tier.table.positions.partitions[_partition(days, row.partition)].end)
        assert (row.lost, row.fault) == ([], None)
    assert rows[0].bytes == sum(file.size for file in days.tier.table.files())


def _partition(sql: SqlTable, index: int) -> TopicPartition:
    return TopicPartition.parse(f"{sql.tier.topic}-partition-{index}")


def test_a_topic_without_a_table_has_no_columns(days: SqlTable) -> None:
    untiered = replace(
        days, topic="untiered", tier=replace(days.tier, topic=f"{days.tier.topic[:-1]}untiered")
    )
    write(untiered.tier, numbered(range(10)))
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        days.spark.table(untiered.columns)
    assert untiered.frame().count() == 10
    assert not scans(untiered.frame())


def test_each_row_is_read_once_while_rows_are_written_and_tiered(sql: SqlTable) -> None:
    sql.tier.admin.create(sql.tier.topic)
    write(sql.tier, numbered(range(100)))
    end = Event()

    def produce() -> None:
        number = 100
        while not end.is_set():
            write(sql.tier, numbered(range(number, number + 20)))
            number += 20

    producing = Thread(target=produce)
    producing.start()
    try:
        sql.tier.run()
        for turn in range(4):
            read = sql.frame().select("id")
            ids = sorted(row.id for row in read.collect())
            assert ids == list(range(len(ids)))
            assert len(ids) >= 100
            assert scans(read)
            if turn % 3 == 0:
                sql.tier.run()
    finally:
        end.set()
        producing.join()
    assert sql.same(lambda frame: frame.selectExpr("id", "__messageId"))


def test_no_secret_in_a_plan(days: SqlTable) -> None:
    secrets = json.dumps({"s3.secret-access-key": "Sesam1234", "s3.access-key-id": "Ali5678"})
    read = days.frame(tierCatalogSecrets=secrets).where("id > 5").select("id")
    assert scans(read)
    execution = read._jdf.queryExecution()
    texts = [execution.toString(), execution.stringWithStats(), execution.optimizedPlan().toJSON()]
    texts += [execution.executedPlan().toJSON(), execution.executedPlan().verboseString(1000)]
    for text in texts:
        assert "Sesam" not in text
        assert "Ali5678" not in text


def test_an_error_names_a_missing_or_damaged_data_file(sql: SqlTable) -> None:
    for number in (0, 100):
        write(sql.tier, numbered(range(number, number + 100)))
        sql.tier.roll()
        sql.tier.run()
    gone, damaged = [Path(file.url.removeprefix("file://")) for file in sql.tier.table.files()]
    kept = gone.read_bytes()
    gone.unlink()
    with (
        sql.conf("spark.sql.files.ignoreMissingFiles", "true"),
        pytest.raises(Py4JJavaError, match=gone.name),
    ):
        sql.frame().select("name").collect()
    # The ledgers still exist, so the broker returns the rows.
    assert sql.frame(readFrom="broker").count() == 200
    gone.write_bytes(kept)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    with (
        sql.conf("spark.sql.files.ignoreCorruptFiles", "true"),
        pytest.raises(Py4JJavaError, match=damaged.name),
    ):
        sql.frame().select("name").collect()


def test_a_frame_of_one_partition(days: SqlTable) -> None:
    part: DataFrame = days.spark.table(f"{days.namespace}.`t-partition-1`")
    assert not scans(part)
    assert part.count() == days.frame().where("__partition = 1").count()


def test_the_rows_have_what_the_filters_look_for() -> None:
    ratios = numbered(range(60)).column("ratio").to_pylist()
    assert sum(ratio != ratio for ratio in ratios) == 2  # noqa: PLR0124
    assert any(str(ratio) == "-0.0" for ratio in ratios)
    assert numbered([7]).schema.field("price").type == pa.decimal128(20, 4)
