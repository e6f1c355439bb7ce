"""Topics with compatible schemas, read as one table from a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from integration.official import Admin, Refused, await_true
from integration.streams import Stream, finish
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.functions import col, concat, lit

from pyspark_pulsar.datasource import PulsarDataSource
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.tools.standalone import LocalPulsar

TOPICS = 300
# Columns of the topics n, n + 3, ...; `id` is n.
VERSIONS = (
    "cast(id AS int) AS id, 'tea' AS item, named_struct('a', 1) AS line",
    "id, 'milk' AS item, 0.5D AS price, named_struct('a', 2L, 'b', 'x') AS line",
    "'n' AS note, id, 'rice' AS item, named_struct('b', 'y', 'a', 3L) AS line, 1.5D AS price",
)
COLUMNS = ["id", "item", "price", "note", "line"]
VALUES = [("tea", None, None, (1, None)), ("milk", 0.5, None, (2, "x")), ("rice", 1.5, "n", (3, "y"))]

Write = Callable[..., None]


@pytest.fixture
def write(spark: SparkSession, pulsar: LocalPulsar) -> Write:
    """Return a function that writes a row for each `id` of a range to a new topic of its own."""

    def run(prefix: str, ids: range, columns: str, **options: str) -> None:
        rows = spark.range(ids.start, ids.stop, ids.step, numPartitions=2)
        named = rows.withColumn("__topic", concat(lit(f"{prefix}-"), col("id"))).selectExpr(
            "__topic", *_split(columns)
        )
        writer = named.write.format("pulsar").option("service.url", pulsar.service_url)
        writer = writer.option("admin.url", pulsar.admin_url).option("partitions", 0).options(**options)
        writer.mode("append").save()

    return run


def _split(columns: str) -> list[str]:
    """Split the text at commas outside of parentheses."""
    parts, depth = [""], 0
    for character in columns:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def rows_of(frame: DataFrame) -> dict[int, tuple[Any, ...]]:
    """Return the rows by id, and check that each id is unique."""
    found = [row.asDict(recursive=True) for row in frame.select(*COLUMNS).collect()]
    rows = {
        row["id"]: (row["item"], row["price"], row["note"], tuple(row["line"][k] for k in "ab"))
        for row in found
    }
    assert len(rows) == len(found)
    return rows


def test_hundreds_of_topics_in_three_versions_are_read_together(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, stream: Stream, write: Write, admin: Admin, tmp_path: Path,
) -> None:  # fmt: skip
    for version, columns in enumerate(VERSIONS):
        write(topic, range(version, TOPICS, 3), columns)
    names = {json.loads((admin.schema(f"{topic}-{n}") or {})["data"])["name"] for n in range(TOPICS)}
    assert len(names) == TOPICS, "each record is named after its topic"
    expected = {n: VALUES[n % 3] for n in range(TOPICS)}

    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW family USING pulsar OPTIONS (topicsPattern '{topic}-.*', "
        f"`service.url` '{pulsar.service_url}', `admin.url` '{pulsar.admin_url}')"
    )
    table = spark.table("family")
    assert set(COLUMNS) < set(table.columns)
    assert dict(table.dtypes)["id"] == "bigint"
    assert dict(table.dtypes)["line"] == "struct<b:string,a:bigint>"
    assert rows_of(spark.sql(f"SELECT {', '.join(COLUMNS)} FROM family")) == expected

    def to_files() -> None:
        frame = stream(topicsPattern=f"{topic}-.*", startingOffsets="earliest", columns="*")
        files = frame.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        finish(
            files.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(),
            600,
        )

    to_files()
    # With the same checkpoint, the query reads topics of an older version, and of a version that no topic had.
    write(topic, range(TOPICS, TOPICS + 1), VERSIONS[0])
    write(topic, range(TOPICS + 1, TOPICS + 2), VERSIONS[1] + ", 'red' AS colour")
    to_files()
    expected |= {TOPICS: VALUES[0], TOPICS + 1: VALUES[1]}
    stored = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "rows"))
    assert rows_of(stored) == expected
    assert {row.id: row.colour for row in stored.where("colour IS NOT NULL").collect()} == {TOPICS + 1: "red"}


@pytest.fixture
def few(topic: str, write: Write) -> str:
    """Make three topics, one of each version."""
    for version, columns in enumerate(VERSIONS):
        write(topic, range(version, version + 1), columns)
    return topic


def test_columns_and_filters_reduce_reads_of_a_family(
    few: str, spark: SparkSession, pulsar: LocalPulsar
) -> None:
    def reader() -> DataFrameReader:
        """Return a new reader, because a reader keeps its options and its schema."""
        topics = ",".join(f"{few}-{n}" for n in range(3))
        return spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topics", topics)

    assert rows_of(reader().load()) == dict(enumerate(VALUES))
    named = reader().option("columns", "note,id,__topic").load()
    assert {tuple(row) for row in named.collect()} == {
        (("n" if n == 2 else None), n, f"{few}-{n}") for n in range(3)
    }
    wanted = reader().schema("line struct<a bigint>, price double, id bigint").load()
    assert {row.id: (row.line.a, row.price) for row in wanted.collect()} == {
        0: (1.0, None), 1: (2.0, 0.5), 2: (3.0, 1.5)
    }  # fmt: skip
    filtered = reader().load().where(f"__topic = '{few}-1'").select("id", "note").collect()
    assert [tuple(row) for row in filtered] == [(1, None)]


def test_a_topic_added_to_a_running_stream(
    few: str, stream: Stream, write: Write, spark: SparkSession, tmp_path: Path
) -> None:
    frame = stream(topicsPattern=f"{few}-.*", startingOffsets="earliest", columns="*")
    files = frame.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
    query = files.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        write(few, range(3, 4), VERSIONS[0])
        # The topic's version is newer than the query, which keeps its columns.
        write(few, range(4, 5), VERSIONS[1] + ", 'red' AS colour")
        query.processAllAvailable()
        stored = spark.read.parquet(str(tmp_path / "rows"))
        assert rows_of(stored) == dict(enumerate([*VALUES, VALUES[0], VALUES[1]]))
        write(few, range(5, 6), "id, 7 AS item")
        await_true("the end", lambda: not query.isActive)
        text = str(query.exception())
        for word in (f"topic {few}-5, which the query has just found", "field item is string in", "int in"):
            assert word in text, text
    finally:
        query.stop()


def test_a_topic_that_gets_its_schema_while_a_micro_batch_is_planned(
    few: str, write: Write, pulsar: LocalPulsar, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic has no schema when topics are listed, and a row when their ends are requested.

    The driver reports the fault, instead of the task that reads the row.
    """
    source = PulsarDataSource(
        {"service.url": pulsar.service_url, "topicsPattern": f"{few}-.*", "startingOffsets": "earliest"}
    )
    reader = source.streamReader(source.schema())
    reached = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    admin.create(f"{few}-3")
    assert reader.latestOffset(reached, ReadAllAvailable()) != reached
    plain = LogEnds.present_ends

    def write_first(self: LogEnds, *arguments: Any, **named: Any) -> Any:
        write(few, range(3, 4), "id, 7 AS item")
        return plain(self, *arguments, **named)

    monkeypatch.setattr(LogEnds, "present_ends", write_first)
    with pytest.raises(SchemaError, match=r"which the query has just found: .*field item is string in"):
        reader.latestOffset(reached, ReadAllAvailable())
    reader.stop()


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("json", {"valueFormat": "json"}),
        ("protobuf", {"valueFormat": "protobuf"}),
        ("inline", {"keyValueEncoding": "inline"}),
        ("separated", {"keyValueEncoding": "separated", "valueFormat": "json"}),
    ],
)
def test_families_of_other_kinds_of_schema(
    form: str, options: dict[str, str], topic: str, spark: SparkSession, pulsar: LocalPulsar, write: Write,
    refused: Refused,
) -> None:  # fmt: skip
    # Protobuf numbers its fields in the order of the columns.
    versions = [
        "cast(id AS int) AS id, 'tea' AS item",
        "id, 'milk' AS item, 0.5D AS price",
        "id, 'rice' AS item, 1.5D AS price, 'n' AS note",
    ]
    if form in ("inline", "separated"):
        versions = [f"id AS key, named_struct({_members(version)}) AS value" for version in versions]
    for n, columns in enumerate(versions):
        write(topic, range(n, n + 1), columns, **options)
    reader = spark.read.format("pulsar").option("service.url", pulsar.service_url)
    frame = reader.option("topicsPattern", f"{topic}-.*").load()
    if form in ("inline", "separated"):
        frame = frame.where("key = value.id").select("value.*")
    found = {tuple(row) for row in frame.select("id", "item", "price", "note").collect()}
    # These columns are never written as null, so they are zero where Protobuf lacks them.
    price, note = (0.0, "") if form == "protobuf" else (None, None)
    assert found == {(0, "tea", price, note), (1, "milk", 0.5, note), (2, "rice", 1.5, "n")}

    other = "id, 7 AS item" if form in ("json", "protobuf") else "id AS key, named_struct('item', 7) AS value"
    write(topic, range(3, 4), other, **options)
    text = refused(reader.load, "SchemaError")
    for word in (
        "schemas of the 4 topics cannot be read as one, 4 schemas differ",
        "allowDifferentTopicSchemas",
        f"{topic}-3",
    ):
        assert word in text, text


def _members(columns: str) -> str:
    pairs = (part.strip().rpartition(" AS ") for part in columns.split(", "))
    return ", ".join(f"'{name}', {value}" if value else f"'{name}', {name}" for value, _, name in pairs)
