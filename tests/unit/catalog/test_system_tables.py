"""Rows of system tables, made of answers of the admin REST API."""

import datetime as dt
import json
import math
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from unit.catalog.stand_ins import Admin, Broker, cluster_of

from pyspark_pulsar.catalog import system_tables as system_rows
from pyspark_pulsar.catalog.names import COLUMNS_TABLE, SYSTEM_TABLES
from pyspark_pulsar.catalog.partition_ends import PartitionEnds
from pyspark_pulsar.catalog.system_tables import SCHEMAS, rows
from pyspark_pulsar.client.admin.schemas import RegisteredSchema
from pyspark_pulsar.errors import CatalogUnsupported, OptionError, PermissionDenied, TopicNotFoundError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.types.spark import spark_schema

HERE = ["public/default"]
ORDERS = "persistent://public/default/orders"
CURSOR = {"markDeletePosition": "7:2"}
STATS = {
    "type": "Shared",
    "isDurable": True,
    "msgBacklog": 5,
    "unackedMessages": 2,
    "consumers": [{}, {}],
    "lastConsumedTimestamp": 1_700_000_000_123,
    "msgRateOut": 1.5,
}


class Stats(Admin):
    """Statistics of each topic partition, and versions of a schema."""

    versions: tuple[RegisteredSchema, ...] = ()
    cursors: dict[str, Any] = {"a": CURSOR}  # noqa: RUF012

    @property
    def topics(self) -> Any:
        return SimpleNamespace(stats=self._stats, internal_stats=self._internal_stats)

    @property
    def schemas(self) -> Any:
        return SimpleNamespace(versions=lambda _: self.versions)

    def _internal_stats(self, partition: TopicPartition) -> dict[str, Any]:
        self.note("internal_stats")
        return {"numberOfEntries": 3, "totalSize": 90, "cursors": self.cursors}

    def _stats(self, topic: TopicName, partitions: int) -> dict[str, Any]:
        assert partitions == 0
        return {"subscriptions": {"b": {"type": "", "isDurable": False}, "a": STATS}}


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> dict[str, PartitionEnds]:
    """Answers by the names of partitions; a partition without an answer is empty."""
    found: dict[str, PartitionEnds] = {}
    monkeypatch.setattr(
        system_rows,
        "query_ends",
        lambda client, each: found.get(each.name, PartitionEnds(EARLIEST, EARLIEST, None)),
    )
    return found


def broker(partitions: int = 0) -> Broker:
    return Broker(there={ORDERS: (partitions, None)})


def test_there_is_a_schema_for_each() -> None:
    assert {*SCHEMAS, COLUMNS_TABLE} == set(SYSTEM_TABLES)
    for schema in SCHEMAS.values():
        assert len(spark_schema(schema)) == len(schema)


def test_offsets(ends: dict[str, PartitionEnds]) -> None:
    ends[f"{ORDERS}-partition-1"] = PartitionEnds(Position(7, 0), Position(9, 4), 1_700_000_000_123)
    assert rows(cluster_of(broker(2), Stats()), HERE, "orders$offsets") == [
        [0, "earliest", "earliest", 3, 90, None],
        [1, "7:0:0", "9:4:0", 3, 90, "2023-11-14T22:13:20.123000Z"],
    ]


@pytest.mark.parametrize("admin", [None, Stats(refuses={"internal_stats": PermissionDenied("no")})])
def test_offsets_for_roles_that_may_only_consume(ends: dict[str, PartitionEnds], admin: Stats | None) -> None:
    ends[ORDERS] = PartitionEnds(Position(7, 0), Position(9, 4), None)
    found = rows(cluster_of(broker(), admin), HERE, "orders$offsets")
    assert found == [[-1, "7:0:0", "9:4:0", None, None, None]]


def test_subscriptions() -> None:
    assert rows(cluster_of(broker(), Stats()), HERE, "orders$subscriptions") == [
        ["a", -1, "Shared", True, 5, "7:3:0", 2, 2, "2023-11-14T22:13:20.123000Z", 1.5],
        ["b", -1, None, False, None, None, None, 0, None, None],
    ]
    found = rows(cluster_of(broker(2), Stats()), HERE, "orders$subscriptions")
    assert [row[:2] for row in found] == [["a", 0], ["b", 0], ["a", 1], ["b", 1]]


@pytest.mark.parametrize(
    ("mark_delete", "position"),
    [("7:-1", "7:0:0"), ("-1:-1", "earliest"), ("7:2", "7:3:0"), (None, None), ("odd", None)],
)
def test_positions_of_subscriptions(mark_delete: str | None, position: str | None) -> None:
    admin = Stats()
    admin.cursors = {"a": {"markDeletePosition": mark_delete}}
    assert rows(cluster_of(broker(), admin), HERE, "orders$subscriptions")[0][5] == position


def test_schemas() -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "a-b", "type": "long"}]}
    document = json.dumps(record | {"fields": [{"name": "ab", "type": "long"}]}).encode()
    avro = SchemaInfo("s", SchemaType.AVRO, document, (("k", "v"),), version=(3).to_bytes(8, "big"))
    pair = join(KeyValueSchemas(SchemaInfo("", SchemaType.STRING), avro, separated=True))
    broken = SchemaInfo("s", SchemaType.AVRO, b"\xff", version=b"odd")
    admin = Stats()
    admin.versions = tuple(
        RegisteredSchema(each, registered) for each, registered in ((avro, 1), (pair, 0), (broken, 0))
    )
    first, second, third = rows(cluster_of(broker(), admin), HERE, "orders$schemas")
    assert first == [3, "AVRO", "1970-01-01T00:00:00.001000Z", "ab bigint", document.decode(), '{"k": "v"}']
    assert second[1:4] == ["KEY_VALUE", None, "key string, value struct<ab: bigint>"]
    assert json.loads(second[4]) == {"key": "", "value": document.decode()}
    assert third == [None, "AVRO", None, None, None, "{}"]


def test_values_that_json_has_not() -> None:
    moment = dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert system_rows._plain(moment) == "2026-01-02T02:00:00.000000Z"
    assert system_rows._plain(math.nan) is None
    assert system_rows._plain(["a"]) == ["a"]


def test_names_of_columns_are_quoted_where_they_must() -> None:
    assert [system_rows._quoted(name) for name in ("a_1", "1a", "a b", "a`b")] == [
        "a_1",
        "`1a`",
        "`a b`",
        "`a``b`",
    ]


def test_a_table_that_cannot_be_queried_is_refused() -> None:
    cluster = cluster_of(broker())
    with pytest.raises(OptionError, match=r"admin\.url"):
        rows(cluster, HERE, "orders$subscriptions")
    with pytest.raises(OptionError, match=r"admin\.url"):
        rows(cluster, HERE, "orders$segments")
    with pytest.raises(CatalogUnsupported, match="system tables"):
        rows(cluster, HERE, "orders")
    with pytest.raises(CatalogUnsupported, match="tierCatalog"):
        rows(cluster, HERE, "orders$tier")
    with pytest.raises(TopicNotFoundError):
        rows(cluster, HERE, "gone$offsets")


def test_types_are_those_of_the_schema() -> None:
    row = system_rows._subscription(TopicPartition.parse("orders"), "a", STATS, CURSOR)
    assert pa.Table.from_pylist([row], SCHEMAS["subscriptions"]).to_pylist() == [row]
