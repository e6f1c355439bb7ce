"""The catalog from DataFrames and streams, in one classic session with the tests' server."""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.secured_pulsar import NAMESPACE, WORKER, SecuredPulsar
from integration.official import Admin, Refused, await_true
from integration.streams import Sending
from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar import catalog_jar
from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.spark.read_limits import SPARK_ASKS_FOR_LIMITS
from pyspark_pulsar.tools.standalone import LocalPulsar

Table = str
Configured = Callable[..., str]


@pytest.fixture(scope="module")
def configured(spark: SparkSession) -> Iterator[Configured]:
    """Return `configured(name, options)`, a block in which the session has a catalog of that name."""
    given = ["spark.sql.python.filterPushdown.enabled"]
    spark.conf.set(given[0], "true")

    def configure(name: str, options: dict[str, str]) -> str:
        settings = catalog_settings(catalog=name, options={**options, "python": sys.executable})
        for key, value in settings.items():
            spark.conf.set(key, value)
            given.append(key)
        return name

    yield configure
    for key in given:
        spark.conf.unset(key)


@pytest.fixture(scope="module")
def catalog(configured: Configured, pulsar: LocalPulsar) -> str:
    return configured("pulsar", {"service.url": pulsar.service_url, "admin.url": pulsar.admin_url})


@pytest.fixture
def table(catalog: str, topic: str) -> Table:
    return f"{catalog}.`public/default`.`{topic.rpartition('/')[2]}`"


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_dataframes_make_tables_and_append_by_name(spark: SparkSession, table: Table) -> None:
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")
    frame.writeTo(table).tableProperty("partitions", "2").create()
    frame.selectExpr("name", "id + 2 AS id", "cast(name AS binary) AS __key").writeTo(table).append()
    frame.selectExpr("id + 4", "name").write.insertInto(table)
    frame.selectExpr("id + 6 AS id", "name", "map('p', name) AS __messageProperties").write.mode(
        "append"
    ).saveAsTable(table)
    found = spark.table(table)
    assert found.columns == ["id", "name"]
    assert rows(found) == [(number, "ab"[(number + 1) % 2]) for number in range(1, 9)]
    keyed = found.where("__key IS NOT NULL").selectExpr("id", "cast(__key AS string)")
    assert rows(keyed) == [(3, "a"), (4, "b")]
    assert rows(found.selectExpr("id", "__messageProperties['p']").where("id > 6")) == [(7, "a"), (8, "b")]


def test_a_frame_that_does_not_fit_is_refused_with_its_columns(
    spark: SparkSession, table: Table, refused: Refused
) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT)")
    for query in ("'x' AS id", "1 AS id, 2 AS other", "1 AS id, 5 AS __sequenceId"):
        with pytest.raises(AnalysisException):
            spark.range(1).selectExpr(query.split(", ")[0], *query.split(", ")[1:]).writeTo(table).append()
    assert spark.table(table).count() == 0


@pytest.mark.parametrize(
    "replace",
    [
        lambda frame, table: frame.sparkSession.sql(f"CREATE OR REPLACE TABLE {table} (other INT)"),
        lambda frame, table: frame.sparkSession.sql(f"REPLACE TABLE {table} AS SELECT id FROM {table}"),
        lambda frame, table: frame.write.mode("overwrite").saveAsTable(table),
        lambda frame, table: frame.writeTo(table).createOrReplace(),
    ],
)
def test_a_topic_is_never_replaced(
    spark: SparkSession, table: Table, replace: Callable[[DataFrame, Table], None]
) -> None:
    """Spark would drop it first, and then see whether the rest can be done."""
    spark.sql(f"CREATE TABLE {table} (id INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    frame = spark.table(table)
    with pytest.raises(AnalysisException, match="expected mode append"):
        replace(frame, table)
    assert rows(spark.table(table)) == [(1,)]


def test_metadata_columns_are_named_in_any_case(spark: SparkSession, table: Table) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT)")
    spark.sql(f"INSERT INTO {table} (ID, __KEY) VALUES (1, 'a')")
    spark.sql(f"INSERT INTO {table} BY NAME SELECT 'b' AS __Key, 2 AS ID")
    spark.range(1).selectExpr("'c' AS __KEY", "3 AS Id").writeTo(table).append()
    assert rows(spark.table(table).selectExpr("id", "cast(__key AS string)")) == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
    ]


def test_a_stream_from_table_to_table(
    spark: SparkSession, table: Table, topic: str, official: official_client.Client, rng: random.Random,
    tmp_path: Path,
) -> None:  # fmt: skip
    spark.sql(
        f"CREATE TABLE {table} (value BINARY) TBLPROPERTIES ('value_format' = 'bytes', 'partitions' = '2')"
    )
    target = table[:-1] + "-target`"
    spark.sql(f"CREATE TABLE {target} (text STRING, part INT, source STRING)")
    stream = (
        spark.readStream.option("startingOffsets", "earliest")
        .table(table)
        .selectExpr("cast(value AS string) AS text", "__partition AS part", "__topic AS source", "__key")
    )
    query = stream.writeStream.option("checkpointLocation", str(tmp_path)).toTable(target)
    try:
        with Sending(official, topic, rng) as sending:
            await_true("two thousand rows are sent", lambda: sending.count > 2000)
        query.processAllAvailable()
    finally:
        query.stop()
    found = spark.sql(f"SELECT text, part, source, CAST(__key AS STRING) AS key FROM {target}").collect()
    numbers = Counter(int(row.text) for row in found)
    assert len(found) == sending.count
    assert set(numbers) == set(range(sending.count))
    assert {row.source for row in found} == {topic}
    assert {row.part for row in found} == {0, 1}
    assert all(row.key == f"k{int(row.text) % 7}" for row in found)


def test_stream_in_sql_and_a_stream_in_complete_mode(
    spark: SparkSession, table: Table, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table} (word STRING)")
    spark.sql(f"INSERT INTO {table} VALUES ('a'), ('b'), ('a')")
    target = table[:-1] + "-counts`"
    spark.sql(f"CREATE TABLE {target} (word STRING, n BIGINT)")
    counts = spark.sql(
        f"SELECT word, count(*) AS n FROM STREAM {table} WITH (startingOffsets = 'earliest') "
        f"WHERE __messageId IS NOT NULL GROUP BY word"
    )
    query = (
        counts.writeStream.outputMode("complete")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .toTable(target)
    )
    query.awaitTermination(120)
    assert rows(spark.table(target)) == [("a", 2), ("b", 1)]


def test_options_of_a_read_and_time_travel(spark: SparkSession, table: Table) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    first = spark.table(table).selectExpr("max(__publishTime)").first()[0]
    await_true("a millisecond passes", lambda: True)
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    assert rows(spark.read.option("endingTimestamp", f"{first.isoformat()}Z").table(table)) == []
    assert rows(spark.sql(f"SELECT * FROM {table} TIMESTAMP AS OF '{first}'")) == [(1,)]
    assert rows(spark.read.option("timestampAsOf", str(first)).table(table)) == [(1,)]
    assert spark.read.option("minPartitions", "2").table(table).rdd.getNumPartitions() == 2


def test_only_the_columns_of_a_query_are_decoded(
    spark: SparkSession, table: Table, topic: str, official: official_client.Client
) -> None:
    """Messages that are no Avro at all do not matter to a query that selects metadata columns only."""
    spark.sql(f"CREATE TABLE {table} (id INT, name STRING)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a')")
    frame = spark.sql(f"SELECT __partition FROM {table} WHERE __key IS NULL")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    scan = next(line for line in plan.splitlines() if "BatchScan" in line)
    assert "id#" not in scan
    assert "__partition#" in scan
    assert rows(frame) == [(-1,)]


def test_filters_narrow_each_query_by_itself(spark: SparkSession, table: Table) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT) TBLPROPERTIES ('partitions' = '3')")
    spark.range(30).selectExpr("cast(id AS int) AS id", "cast(id % 3 AS int) AS __partition").writeTo(
        table
    ).append()
    frame = spark.table(table)
    assert frame.where("__partition = 1").rdd.getNumPartitions() == 1
    assert rows(frame.where("__partition = 1")) == [(number,) for number in range(1, 30, 3)]
    # Spark keeps the plan of a data source's first query with the data source itself, but plans a table
    # again.
    assert rows(frame.where("__partition = 2")) == [(number,) for number in range(2, 30, 3)]
    assert frame.count() == 30
    assert frame.where("__partition = 0 OR id = 1").count() == 11


def test_a_limit_ends_tasks_and_leaves_no_traceback(
    spark: SparkSession, table: Table, capfd: pytest.CaptureFixture[str]
) -> None:
    spark.range(300_000).selectExpr("id", "repeat(cast(id AS string), 4) AS name").writeTo(
        table
    ).tableProperty("partitions", "2").create()
    whole = spark.table(table)
    plan = explained(whole.limit(10))
    assert "limit 10" in plan
    assert "PushedLimit: 10" in explained(whole.limit(10), "formatted")
    assert len({row.id for row in whole.limit(10).collect()}) == 10
    assert whole.limit(10).rdd.getNumPartitions() == 1
    assert whole.limit(0).collect() == []
    assert len({row.id for row in whole.limit(250_000).collect()}) == 250_000
    assert len(whole.offset(299_995).limit(10).collect()) == 5
    assert not whole.isEmpty()
    # A filter that Spark evaluates itself: the limit stays Spark's.
    filtered = whole.where("id % 7 = 3")
    assert "limit 10" not in explained(filtered.limit(10)).replace("CollectLimit 10", "")
    assert all(row.id % 7 == 3 for row in filtered.limit(10).collect())
    assert not filtered.isEmpty()
    assert filtered.head() is not None
    assert "Traceback" not in capfd.readouterr().err


def test_a_small_topic_is_broadcast_and_the_plan_shows_the_read(spark: SparkSession, table: Table) -> None:
    spark.range(3).selectExpr("id", "'x' AS city").writeTo(table).create()
    large = spark.range(10_000_000).selectExpr("id", "repeat('x', 100) AS name").where("length(name) > 3")
    joined = large.join(spark.table(table), "id")
    plan = explained(joined)
    assert "BroadcastHashJoin" in plan
    assert re.search(
        r"Pulsar\[persistent://\S+\] 1 partition in 1 task: \S+ earliest to \S+; from broker 1", plan
    )
    assert "1 partition in 1 task" in explained(joined, "formatted")
    # Without the admin REST API, no size is known.
    unknown = spark.read.option("readFrom", "broker").table(table)
    assert "sizeInBytes=" in explained(unknown, "cost")


def explained(frame: DataFrame, mode: str | None = None) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as plan:
        frame.explain(mode=mode)
    return plan.getvalue()


def test_changes_of_a_table_with_a_key(
    spark: SparkSession, table: Table, pulsar: LocalPulsar, topic: str
) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT, name STRING) TBLPROPERTIES ('key_column' = 'id')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (1, 'c'), (3, NULL)")
    gone = spark.sql(
        "SELECT CAST('2' AS BINARY) AS __key, CAST(NULL AS INT) AS id, CAST(NULL AS STRING) AS name"
    )
    gone.write.format("pulsar").options(
        **{"service.url": pulsar.service_url, "topic": topic, "writeTombstones": "true"}
    ).mode("append").save()
    if not SPARK_ASKS_FOR_LIMITS:
        with pytest.raises(ParseException):
            spark.sql(f"SELECT * FROM {table} CHANGES FROM VERSION 'earliest'")
        return
    changes = spark.read.option("startingVersion", "earliest").changes(table)
    assert changes.columns == ["id", "name", "_change_type", "_commit_version", "_commit_timestamp"]
    found = [(row.id, row.name, row._change_type) for row in changes.collect()]
    assert sorted(found, key=str) == sorted(
        [
            (1, "a", "update_postimage"),
            (1, "c", "update_postimage"),
            (2, "b", "update_postimage"),
            (2, None, "delete"),
            (3, None, "update_postimage"),
        ],
        key=str,
    )
    # From a change on, that one included.
    last = changes.where("_change_type = 'delete'").first()
    assert last is not None
    again = spark.read.option("startingVersion", last["_commit_version"]).changes(table)
    assert [(row.id, row._change_type) for row in again.collect()] == [(2, "delete")]
    for option, value in (("computeUpdates", "true"), ("deduplicationMode", "netChanges")):
        with pytest.raises(AnalysisException, match="present values, not its earlier values"):
            spark.read.option("startingVersion", "earliest").option(option, value).changes(table)


def test_a_changed_table_is_seen_by_the_next_query(spark: SparkSession, table: Table) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (name STRING)")
    spark.sql(f"INSERT INTO {table} VALUES (2, 'b')")
    assert rows(spark.sql(f"SELECT id, coalesce(name, '-') FROM {table}")) == [(1, "-"), (2, "b")]


def test_the_output_of_show_create_table_creates_the_same_table(spark: SparkSession, table: Table) -> None:
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT NOT NULL, word STRING COMMENT 'said', at STRUCT<town: STRING>) COMMENT 'x' "
        f"TBLPROPERTIES ('partitions' = '2', 'key_column' = 'word', 'value_format' = 'json', 'team' = 'a')"
    )
    statement = spark.sql(f"SHOW CREATE TABLE {table}").first()[0]
    described = [tuple(row) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()]
    assert ("word", "string", "said") in described
    spark.sql(f"DROP TABLE {table}")
    spark.sql(statement)
    assert [tuple(row) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()] == described
    assert spark.sql(f"SHOW CREATE TABLE {table}").first()[0] == statement


def test_the_process_may_die_at_any_time(spark: SparkSession, table: Table) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT)")
    for signal_number in (signal.SIGKILL, signal.SIGTERM):
        for process in processes(spark):
            os.kill(process, signal_number)
        assert spark.table(table).count() == 0


def test_a_cancelled_statement_leaves_no_half_table(spark: SparkSession, table: Table) -> None:
    """Spark cancels by interrupting the thread that waits for the process."""
    threads = spark._jvm.java.lang.Thread
    for tenth in range(12):
        name = f"{table[:-1]}-{tenth}`"
        create = f"CREATE TABLE {name} (id INT) TBLPROPERTIES ('partitions' = '5', 'key_column' = 'id')"
        waiting: queue.Queue[Any] = queue.Queue()

        def run(statement: str = create, told: queue.Queue[Any] = waiting) -> None:
            told.put(threads.currentThread())
            with contextlib.suppress(AnalysisException, Py4JError):
                spark.sql(statement)
            threads.interrupted()

        thread = InheritableThread(run)
        thread.start()
        target = waiting.get(timeout=30)
        time.sleep(tenth / 40)
        target.interrupt()
        thread.join(60)
        assert not thread.is_alive()
        if spark.catalog.tableExists(name):
            assert spark.table(name).columns == ["id"]
            assert ("key_column", "id") in rows(spark.sql(f"SHOW TBLPROPERTIES {name}"))


def test_sessions_with_equal_settings_share_a_process(spark: SparkSession, table: Table) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT)")
    before = processes(spark)
    other = spark.newSession()
    for key in ("", ".service.url", ".admin.url", ".python"):
        other.conf.set(f"spark.sql.catalog.pulsar{key}", spark.conf.get(f"spark.sql.catalog.pulsar{key}"))
    assert other.table(table).count() == 0
    assert processes(spark) == before


def test_an_interpreter_without_the_package_is_named(spark: SparkSession, configured: Configured) -> None:
    name = configured("bare", {"service.url": "pulsar://127.0.0.1:1"})
    spark.conf.set(f"spark.sql.catalog.{name}.python", "/no/such/python")
    with pytest.raises(AnalysisException, match=r"/no/such/python.*spark\.sql\.catalog"):
        spark.sql(f"SHOW TABLES IN {name}.`public/default`")


def test_a_process_that_prints_something_else_is_reported(
    spark: SparkSession, configured: Configured, tmp_path: Path
) -> None:
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\necho activated\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    name = configured("talkative", {"service.url": "pulsar://127.0.0.1:1"})
    spark.conf.set(f"spark.sql.catalog.{name}.python", str(wrapper))
    for _ in range(2):
        with pytest.raises(AnalysisException, match=r"'activated'.*spark\.sql\.catalog"):
            spark.sql(f"SHOW TABLES IN {name}.`public/default`")


def test_a_wrong_setting_is_reported(spark: SparkSession, configured: Configured) -> None:
    name = configured("wrong", {"service.url": "pulsar://127.0.0.1:1"})
    spark.conf.set(f"spark.sql.catalog.{name}.admin.ulr", "http://127.0.0.1:1")
    with pytest.raises(AnalysisException, match=r"admin\.ulr.*admin\.url"):
        spark.sql(f"SHOW TABLES IN {name}.`public/default`")


def test_a_role_that_may_not_administer(
    spark: SparkSession, configured: Configured, secured: SecuredPulsar
) -> None:
    """The role reads and writes existing tables; a refusal names the missing permission."""
    own = {"defaultNamespace": NAMESPACE, "tenants": NAMESPACE.partition("/")[0]}
    worker = configured("worker", {**secured.options(WORKER, admin=True), **own})
    chief = configured("chief", {**secured.options("admin", admin=True), **own})
    local = f"`{NAMESPACE}`.t{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {chief}.{local} (id INT, name STRING)")
    spark.sql(f"INSERT INTO {worker}.{local} VALUES (1, 'a')")
    assert rows(spark.table(f"{worker}.{local}")) == [(1, "a")]
    assert [row.tableName for row in spark.sql(f"SHOW TABLES IN {worker}.`{NAMESPACE}`").collect()]
    assert rows(spark.sql(f"SHOW NAMESPACES IN {worker}"))
    assert spark.sql(f"DESCRIBE TABLE EXTENDED {worker}.{local}").count() > 2
    for statement in (f"DROP TABLE {worker}.{local}", f"CREATE TABLE {worker}.{local}2 (id INT)"):
        with pytest.raises(AnalysisException, match=r"40[13]|[Uu]nauthorized|not (allowed|authorized|have)"):
            spark.sql(statement)
    assert rows(spark.table(f"{chief}.{local}")) == [(1, "a")]


def test_no_listing_sends_a_request_for_each_topic(spark: SparkSession, catalog: str, admin: Admin) -> None:
    """The number of REST calls does not grow with the topics; what they answer is the server's own list."""
    namespace = f"public/many-{uuid.uuid4().hex[:6]}"
    admin.make_namespace(namespace)
    names = {f"t-{number}" for number in range(20)}
    for name in names:
        admin.create_partitioned(f"persistent://{namespace}/{name}", 2)
    shown = spark.sql(f"SHOW TABLES IN {catalog}.`{namespace}`").collect()
    assert {row.tableName for row in shown} == names
    spark.sql(f"DROP NAMESPACE {catalog}.`{namespace}` CASCADE")
    assert not spark.sql(f"SHOW NAMESPACES IN {catalog} LIKE '*many-*'").collect()


def test_nothing_that_a_user_sees_shows_a_secret(
    spark: SparkSession, configured: Configured, secured: SecuredPulsar
) -> None:
    name = configured("secretive", {**secured.options(WORKER, admin=True), "defaultNamespace": NAMESPACE})
    secret = secured.token(WORKER)
    spark.conf.set(f"spark.sql.catalog.{name}.pulsar.client.authParams", f"token:{secret}")
    table = f"{name}.`{NAMESPACE}`.s{uuid.uuid4().hex[:8]}"
    spark.range(2).selectExpr("cast(id AS string) AS value").write.format("pulsar").options(
        **secured.options(WORKER)
    ).option("topic", f"persistent://{NAMESPACE}/{table.rpartition('.')[2]}").mode("append").save()
    frame = spark.table(table).where("__partition < 3")
    shown = [
        frame._jdf.queryExecution().toString(),
        json.dumps([row.asDict() for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()]),
        json.dumps([row.asDict() for row in spark.sql(f"SHOW CREATE TABLE {table}").collect()]),
        json.dumps([row.asDict() for row in spark.sql(f"EXPLAIN EXTENDED SELECT * FROM {table}").collect()]),
    ]
    assert frame.count() == 2
    assert [text for text in shown if secret in text] == []
    # Neither do the arguments and the environment of the catalog's process.
    told = [
        Path(f"/proc/{each}/{file}").read_bytes()
        for each in processes(spark)
        for file in ("cmdline", "environ")
    ]
    assert [text for text in told if secret.encode() in text] == []


def test_the_jar_holds_the_catalog_and_nothing_else() -> None:
    listed = subprocess.run(
        ["jar", "tf", catalog_jar()], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert any(each.endswith("/PulsarCatalog.class") for each in listed)
    assert [
        each
        for each in listed
        if not re.fullmatch(
            r"(org/pysparkpulsar/(catalog|checkpoint|process|source)/\S+|pulsar/DefaultSource)\.class", each
        )
    ] == []


def processes(spark: SparkSession) -> list[int]:
    """Return the catalog processes that this JVM has started."""
    parent = str(spark._jvm.java.lang.ProcessHandle.current().pid())
    listed = subprocess.run(
        ["pgrep", "-P", parent, "-f", "pyspark_pulsar[.]catalog"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return sorted(int(each) for each in listed.stdout.split())
