"""The files, columns, times and remaining ranges that Spark gets for a topic's table, and reasons to get
none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pytest
from pyiceberg.manifest import ManifestFile
from unit.catalog.stand_ins import URLS, Admin, Broker, cluster_of

from pyspark_pulsar.catalog.cluster import Cluster
from pyspark_pulsar.catalog.scan import tier_scan as tier_scan_module
from pyspark_pulsar.catalog.scan.known_files import KnownFiles
from pyspark_pulsar.catalog.scan.tier_scan import tier_scan
from pyspark_pulsar.errors import PermissionDenied
from pyspark_pulsar.history.columnar.positions import TieredPartition, TieredPositions
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.table_files import LEDGER
from pyspark_pulsar.history.columnar.tier_note import TIER_NOTE, TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.columnar.writing.writer import DataFileWriter
from pyspark_pulsar.history.tiering.definition import (
    TableSettings,
    definition_of,
    follow,
    tiering_options,
    topic_schema,
)
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.schema import metadata_columns
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.types.spark import spark_schema

TOPIC = "persistent://public/default/orders"
PARTITIONS = [TopicPartition.parse(f"{TOPIC}-partition-{index}") for index in range(2)]
DOCUMENT = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
SCHEMA = SchemaInfo("orders", SchemaType.AVRO, json.dumps(DOCUMENT).encode(), version=bytes(8))
ROWS_PER_FILE, LEDGERS = 3, 2
END = Position(9, 0)
BEHIND = dict.fromkeys(PARTITIONS, Position(9, 3))
"""The ends of the topic partitions, if they have more messages than the table."""
ID = pa.field("id", pa.int64())
HAPPENED = metadata_columns.FIELDS["__eventTime"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The options of a scan of a topic that is tiered: in each of two partitions two ledgers, a file each."""
    folder = tmp_path_factory.mktemp("tier")
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/ta bles",
    }
    given = {**URLS, "topic": TOPIC, "tiercatalog": json.dumps(catalog)}
    options = parse_options(ReadOptions, given)
    of_tier = tiering_options(options, TopicName.parse(TOPIC))
    broker: Any = Broker(there={TOPIC: (2, SCHEMA)})
    schema, topic = topic_schema(broker, of_tier), TopicName.parse(TOPIC)
    tables = TopicTables(options)
    table = tables.catalog.create(tables.identifier(topic), definition_of(schema, topic, TableSettings()))
    follow(table, schema)
    commit(table, schema.output_schema, END)
    return given


def commit(table: ColumnarTable, columns: pa.Schema, end: Position) -> None:
    layout = table.layout(next(iter(table.schema_texts.values())))
    files = [
        file
        for partition in PARTITIONS
        for ledger in range(7, 7 + LEDGERS)
        for file in DataFileWriter(layout, table.storage, partition).write(
            [batch(columns, partition.index, ledger)]
        )
    ]
    table.commit(files, TieredPositions({partition: TieredPartition(end) for partition in PARTITIONS}))


def batch(columns: pa.Schema, partition: int, ledger: int) -> pa.RecordBatch:
    rows = [
        {
            "id": ledger * 100 + entry,
            "name": f"n{entry}",
            "__messageId": {"ledger": ledger, "entry": entry, "batchIndex": 0, "partition": partition},
            "__partition": partition,
            "__publishTime": ledger * 1_000_000,
            "__messageSize": 9,
            "__eventTime": None if entry else 5,
        }
        for entry in range(ROWS_PER_FILE)
    ]
    return pa.RecordBatch.from_pylist(rows, columns)


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> dict[TopicPartition, Position]:
    """The ends of the topic partitions, as brokers report them."""
    told = dict(BEHIND)

    class Reported(LogEnds):
        def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Position]:
            return {partition: told[partition] for partition in partitions}

    monkeypatch.setattr(tier_scan_module, "LogEnds", Reported)
    return told


def cluster(broker: Broker | None = None, note: TierNote | None = None) -> Cluster:
    properties = {} if note is None else {TIER_NOTE: note.to_json()}
    return cluster_of(broker or Broker(there={TOPIC: (2, SCHEMA)}), Admin(properties={TOPIC: properties}))


def table_of(texts: dict[str, str]) -> ColumnarTable:
    table = TopicTables(parse_options(ReadOptions, texts)).load(TopicName.parse(TOPIC))
    assert table is not None
    return table


def requested(
    texts: dict[str, str],
    *columns: pa.Field,
    broker: Broker | None = None,
    note: TierNote | None = None,
    **further: str,
) -> Any:
    """Return the report on a scan; `note` replaces the topic's note, which names the table."""
    given = texts | {key.lower(): text for key, text in further.items()}
    note = note or TierNote("t", "i").of_table(table_of(texts), "t", {})
    return tier_scan(cluster(broker, note), given, spark_schema(pa.schema(columns)).jsonValue())


def test_files_columns_and_rest(texts: dict[str, str]) -> None:
    told = requested(texts, ID, failOnDataLoss="false")
    assert told["table"] == "public_default.orders"
    assert told["rows"] == [ROWS_PER_FILE] * 4
    for url, size in zip(told["urls"], told["sizes"], strict=True):
        assert Path(url.removeprefix("file://")).stat().st_size == size
    assert told["statistics"]["id"]["lower"] == [700, 800, 700, 800]
    assert told["statistics"]["id"]["upper"] == [702, 802, 702, 802]
    assert told["statistics"][LEDGER]["lower"] == [7, 8, 7, 8]
    assert set(told["statistics"]) == {"id", LEDGER}
    assert [field["name"] for field in told["schema"]["fields"]] == ["id"]
    assert told["columns"] == [{"name": "id", "scanned": True, "default": None}]
    assert (told["windows"], told["settings"]) == ([], {})
    rest = told["rest"]
    assert rest["failondataloss"] == "false"
    assert not {"tiercatalog", "tiercatalogsecrets"} & rest.keys()
    behind = json.loads(rest["behindtable"])
    assert behind["table"] == "public_default.orders"
    assert {tiered["end"] for tiered in behind["partitions"].values()} == {str(END)}
    parse_options(ReadOptions, rest).check_read_from()


@pytest.mark.parametrize(
    ("last", "is_all"),
    [
        (END, True),
        (Position(8, 3), True),
        (Position(8, 2, 7), True),
        (Position(9, 1), False),
        (Position(9, 0, 1), False),
        # The topic was emptied or created again, so the messages after the table's end are unknown.
        (EARLIEST, False),
    ],
)
def test_nothing_is_left_to_read(
    texts: dict[str, str], ends: dict[TopicPartition, Position], last: Position, *, is_all: bool
) -> None:
    ends.update(dict.fromkeys(PARTITIONS, Position(8, 3)))
    ends[PARTITIONS[1]] = last
    assert (requested(texts, ID)["rest"] is None) == is_all


def test_the_table_of_another_topic_of_this_name(
    texts: dict[str, str], ends: dict[TopicPartition, Position]
) -> None:
    """No ledger is requested if the table contains everything, so the topic's note has to name the table."""
    ends.update(dict.fromkeys(PARTITIONS, END))
    for further in ({}, {"readFrom": "columns"}):
        assert requested(texts, ID, **further)["rest"] is None
        refused = requested(texts, ID, note=TierNote("t", "another"), **further)["refused"]
        assert f"whose id is {table_of(texts).id}" in refused
        given = texts | {key.lower(): text for key, text in further.items()}
        unnamed = tier_scan(cluster(), given, spark_schema(pa.schema([ID])).jsonValue())
        assert unnamed["refused"] == "the topic does not name the table as its own"


def test_rows_are_counted_by_a_column(texts: dict[str, str]) -> None:
    told = requested(texts)
    assert told["columns"] == []
    assert [field["name"] for field in told["schema"]["fields"]] == ["__partition"]


def test_columns_of_messages_that_no_file_has(texts: dict[str, str]) -> None:
    later = DOCUMENT | {
        "fields": [*DOCUMENT["fields"], {"name": "level", "type": "int", "default": 7}]  # type: ignore[misc]
    }
    broker = Broker(there={TOPIC: (2, replace(SCHEMA, document=json.dumps(later).encode()))})
    told = requested(texts, pa.field("level", pa.int32()), broker=broker)
    assert told["columns"] == [{"name": "level", "scanned": False, "default": "7"}]


def test_times_are_filters(texts: dict[str, str]) -> None:
    told = requested(
        texts, ID, startingTimestamp="1970-01-01T00:00:07Z", endingEventTime="1970-01-01T00:00:01Z"
    )
    (window,) = told["windows"]
    assert window == {
        "partitions": None,
        "published_from": 7_000_000,
        "published_before": None,
        "event_before": 1_000_000,
    }
    assert [column["name"] for column in told["columns"]] == ["id", "__publishTime", "__eventTime"]
    each = {str(partition): f"1970-01-01T00:00:0{partition.index}Z" for partition in PARTITIONS}
    told = requested(texts, ID, startingOffsetsByTimestamp=json.dumps(each))
    assert {tuple(window["partitions"]): window["published_from"] for window in told["windows"]} == {
        (0,): 0,
        (1,): 1_000_000,
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets"),
        ({"startingOffsets": json.dumps({str(PARTITIONS[0]): "7:1:0", "*": "earliest"})}, "startingOffsets"),
        ({"endingOffsets": json.dumps({"*": "latest", str(PARTITIONS[0]): "8:9:0"})}, "endingOffsets"),
        ({"endingOffsets": json.dumps({str(PARTITIONS[0]): "latest"})}, "endingOffsets"),
        ({"endingOffsets": json.dumps({"*": "earliest"})}, "endingOffsets"),
        ({"startingSubscription": "s"}, "startingSubscription"),
        ({"splitBy": "key"}, "splitBy"),
        ({"auditPath": "/tmp/a"}, "auditPath"),
        ({"readFrom": "broker"}, "do not allow reads of tables"),
        ({"readFrom": "bookie"}, "do not allow reads of tables"),
        ({"readCompacted": "true"}, "do not allow reads of tables"),
        ({"behindTable": '{"table": "x", "version": 1, "partitions": {}}'}, "behindTable"),
        ({"readFrom": "columns", "startingOffsets": "earliest"}, "offsets name all"),
        ({"tierTable": "none.{topic}"}, "the topic has no table"),
        ({"minPartitions": "x"}, "OptionError"),
    ],
)
def test_queries_that_are_left_to_the_data_source(
    texts: dict[str, str], options: dict[str, str], reason: str
) -> None:
    told = requested(texts, ID, **options)
    assert list(told) == ["refused"]
    assert reason in told["refused"]


def test_sides_of_the_log_are_no_bounds(texts: dict[str, str]) -> None:
    named = {str(partition): "earliest" for partition in PARTITIONS}
    assert "urls" in requested(texts, ID, startingOffsets=json.dumps(named), endingOffsets="latest")


def test_messages_past_the_end_of_the_table_are_left_to_the_rest(texts: dict[str, str]) -> None:
    ends = json.dumps({str(PARTITIONS[0]): str(END), str(PARTITIONS[1]): "12:3:1"})
    assert requested(texts, ID, endingOffsets=ends)["rest"]["endingoffsets"] == ends


def test_a_partition_is_not_a_whole_topic(texts: dict[str, str]) -> None:
    assert "one whole topic" in requested(texts, ID, topic=str(PARTITIONS[0]))["refused"]


def test_a_schema_that_has_changed_since(texts: dict[str, str]) -> None:
    assert "not a column of the topic" in requested(texts, pa.field("id", pa.string()))["refused"]
    assert "not a column of the topic" in requested(texts, pa.field("other", pa.string()))["refused"]


def test_a_refusal_by_the_broker_is_reported_by_the_data_source(texts: dict[str, str]) -> None:
    broker = Broker(there={TOPIC: (2, SCHEMA)}, refuses={"schemas": PermissionDenied("no")})
    assert requested(texts, ID, broker=broker)["refused"] == "PermissionDenied: no"


def test_rows_outside_of_the_positions_are_reported(texts: dict[str, str]) -> None:
    options = parse_options(ReadOptions, texts)
    table = TopicTables(options).load(TopicName.parse(TOPIC))
    assert table is not None
    before = table.positions
    for positions, reason in (
        (
            before.with_partitions({PARTITIONS[1]: TieredPartition(Position(8, 0))}),
            "rows after the positions in its metadata",
        ),
        (
            before.with_partitions({TopicPartition.parse(f"{TOPIC}-partition-5"): TieredPartition(END)}),
            "do not exist",
        ),
    ):
        table.commit([], positions)
        assert reason in requested(texts, ID)["refused"]
    table.commit([], before)
    assert "urls" in requested(texts, ID)


def test_manifests_are_read_once(texts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    options, read = parse_options(ReadOptions, texts), Counter[str]()
    fetch = ManifestFile.fetch_manifest_entry

    def counted(manifest: ManifestFile, *given: Any, **further: Any) -> Any:
        read[manifest.manifest_path] += 1
        return fetch(manifest, *given, **further)

    monkeypatch.setattr(ManifestFile, "fetch_manifest_entry", counted)

    def load() -> ColumnarTable:
        table = TopicTables(options).load(TopicName.parse(TOPIC))
        assert table is not None
        return table

    table, known = load(), KnownFiles()
    files = known.files_of(table, ["id"])
    assert known.files_of(table, ["id"]) is files
    assert set(read.values()) == {1}
    # Of another column nothing is known yet; then of both.
    both = known.files_of(table, ["name"])
    assert known.files_of(table, ["id", "name"]) is both
    assert set(read.values()) == {2}
    of_both = dict(read)
    columns = [column for column in table.columns if column.name != "__tieredBy"]
    commit(table, pa.schema(columns), END)
    later = known.files_of(load(), ["id"])
    assert (len(files), len(later)) == (4, 8)
    assert sorted(later.statistics["id"].lower) == [700] * 4 + [800] * 4  # type: ignore[type-var]
    assert {path: count for path, count in read.items() if path in of_both} == of_both
    assert len(read) == len(of_both) + 1
    assert KnownFiles().files_of(load(), ["id"]) == replace(later, statistics=ANY)


def test_files_of_few_tables_are_kept(texts: dict[str, str]) -> None:
    table = TopicTables(parse_options(ReadOptions, texts)).load(TopicName.parse(TOPIC))
    assert table is not None
    known, other = (
        KnownFiles(most_files=1),
        SimpleNamespace(name="other", version="1", all_files=table.all_files),
    )
    files = known.files_of(table, ["id"])
    assert known.files_of(table, ["id"]) is files
    known.files_of(other, ["id"])  # type: ignore[arg-type]
    assert known.files_of(table, ["id"]) is not files
