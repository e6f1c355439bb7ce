"""Columns of the sink that select topic, partition and delivery time, or delete a key; read by the official clients."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, JavaClient, Refused, as_base64, messages_of
from integration.task_failures import failure
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

KEYS = [
    "",
    "a",
    "key-1",
    "user-42",
    "Zürich",
    "😀",
    "polygenelubricants",
    *(f"k{number}" for number in range(40)),
]
DELAY_SECONDS = 20


def save(frame: DataFrame, server: LocalPulsar, **options: str) -> None:
    writer = frame.write.format("pulsar").option("service.url", server.service_url)
    writer.options(**options).mode("append").save()


def partition(message: official_client.Message) -> int:
    return int(message.topic_name().rpartition("-partition-")[2])


def texts(client: official_client.Client, topic: str) -> list[str]:
    return [message.data().decode() for message in messages_of(client, topic)]


@pytest.mark.parametrize("hashing", [None, "JavaStringHash", "Murmur3_32Hash"])
def test_keys_go_where_the_java_client_sends_them(
    hashing: str | None,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    java_client: JavaClient,
) -> None:
    binary = [b"\xff\x00", b"\x80key"]
    for name in (topic, f"{topic}-ours"):
        admin.create_partitioned(name, 5)
    messages: list[dict[str, Any]] = [{"key": key, "value": as_base64(key.encode())} for key in KEYS]
    messages += [{"keyBytes": as_base64(key), "value": as_base64(key)} for key in binary]
    java_client.produce(topic, "BYTES", messages, **({"hashing": hashing} if hashing else {}))
    rows = [(key, key) for key in [*(key.encode() for key in KEYS), *binary]]
    options = {"pulsar.producer.hashingScheme": hashing} if hashing else {}
    save(spark.createDataFrame(rows, "__key binary, value binary"), pulsar, topic=f"{topic}-ours", **options)

    def places(name: str) -> dict[str, int]:
        return {row["value"]: row["partition"] for row in java_client.read(name, "BYTES")}

    assert places(f"{topic}-ours") == places(topic)
    assert len(set(places(topic).values())) == 5


def test_a_row_chooses_its_partition(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
) -> None:
    admin.create_partitioned(topic, 4)
    frame = spark.range(200).selectExpr(
        "cast(id as string) value", "'same' __key", "id % 3 + 1 as __partition"
    )
    save(frame, pulsar, topic=topic)
    found = {int(each.data()): partition(each) for each in messages_of(official, topic)}
    assert found == {number: number % 3 + 1 for number in range(200)}
    beyond = spark.range(1).selectExpr("'x' value", "4 as __partition")
    assert "__partition: expected 0 to 3, got 4" in failure(
        lambda: save(beyond, pulsar, topic=topic), "SchemaError"
    )
    # With a null, or the -1 of a topic without partitions, the key selects the partition.
    free = spark.createDataFrame(
        [("a", None, "a"), ("b", -1, "a")], "value string, __partition int, __key string"
    )
    save(free.coalesce(1), pulsar, topic=topic)
    assert {partition(each) for each in messages_of(official, topic) if each.data() in b"ab"} == {97 % 4}


def test_rows_name_topics_that_exist(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:
    admin.create(f"{topic}-0")
    admin.create_partitioned(f"{topic}-1", 3)
    admin.create(f"{topic}-2")
    short = topic.removeprefix("persistent://public/default/")
    name = f"concat(if(id % 2 = 0, '{topic}', '{short}'), '-', id % 3)"
    frame = spark.range(3_000).selectExpr("cast(id as string) value", "'k' __key", f"{name} __topic")
    save(frame.coalesce(1), pulsar)
    for rest in range(3):
        # One task and one key keep the order.
        wanted = [str(number) for number in range(3_000) if number % 3 == rest]
        assert texts(official, f"{topic}-{rest}") == wanted


def test_option_topic_overrides_the_column(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, official: official_client.Client
) -> None:
    save(
        spark.createDataFrame([("a", f"{topic}-other")], "value string, __topic string"), pulsar, topic=topic
    )
    assert texts(official, topic) == ["a"]
    assert f"{topic}-other" not in admin.topics()


def test_topics_of_rows_are_created_when_allowed(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
) -> None:
    frame = spark.range(100).selectExpr("id", f"concat('{topic}-', id % 2) __topic")
    said = failure(lambda: save(frame, pulsar), "TopicNotFoundError")
    assert "named by rows in column __topic" in said
    assert "partitions" in said
    assert not any(name.startswith(topic) for name in admin.topics())
    options = {"partitions": "2", "admin.url": pulsar.admin_url, "valueFormat": "json"}
    save(frame, pulsar, **options)
    found = defaultdict(list)
    for rest in range(2):
        assert f"{topic}-{rest}-partition-1" in admin.topics()
        schema = admin.schema(f"{topic}-{rest}")
        assert schema is not None
        assert schema["type"] == "JSON"
        for message in messages_of(official, f"{topic}-{rest}"):
            found[rest].append(json.loads(message.data())["id"])
    assert {rest: sorted(ids) for rest, ids in found.items()} == {
        rest: [number for number in range(100) if number % 2 == rest] for rest in range(2)
    }
    # The topics exist now, and stay unchanged.
    save(frame, pulsar, **{**options, "partitions": "5"})
    assert f"{topic}-0-partition-2" not in admin.topics()


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_topic_is_created_with_partitions(
    partitions: int, topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin
) -> None:
    options = {"topic": topic, "partitions": str(partitions), "admin.url": pulsar.admin_url}
    save(spark.range(10), pulsar, **options)
    expected = {topic} if partitions == 0 else {topic, *(f"{topic}-partition-{index}" for index in range(3))}
    assert {name for name in admin.topics() if name.startswith(topic)} == expected


def test_rows_without_a_topic_are_refused(spark: SparkSession, pulsar: LocalPulsar, refused: Refused) -> None:
    nowhere = spark.createDataFrame([("a", None)], "value string, __topic string")
    assert "expected a topic in column __topic, got null" in failure(
        lambda: save(nowhere, pulsar), "SchemaError"
    )
    assert "a column __topic" in refused(lambda: save(spark.range(1), pulsar), "OptionError")


def test_rows_are_delivered_at_their_time(
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    consumer = official.subscribe(topic, "shared", official_client.ConsumerType.Shared)
    at = int((time.time() + DELAY_SECONDS) * 1000)
    rows = [("now", None), ("then", at), ("now too", None), ("at once, as it is past", 1_000)]
    frame = spark.createDataFrame(rows, "value string, at long")
    frame = frame.selectExpr(
        "value", "timestamp_millis(at) __deliverAt", "map('n', value) __messageProperties"
    )
    save(frame.coalesce(1), pulsar, topic=topic)
    came = {}
    for _ in rows:
        message = consumer.receive(timeout_millis=60_000)
        came[message.data().decode()] = time.time() * 1000
        assert message.properties() == {"n": message.data().decode()}
        consumer.acknowledge(message)
    consumer.close()
    assert came["then"] >= at
    assert max(moment for value, moment in came.items() if value != "then") < came["then"]
    # A reader ignores delivery times, and rows of a task keep their order.
    assert [row.value for row in read_topic(topic).collect()] == [value for value, _ in rows]


def test_properties_of_either_kind_of_map(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    strict = spark.range(2).selectExpr(
        "cast(id as string) value", "map('n', cast(id as string)) __messageProperties"
    )
    nullable = strict.selectExpr("value", "if(value = '0', __messageProperties, null) __messageProperties")
    for frame in (strict, nullable):
        save(frame.coalesce(1), pulsar, topic=topic)
    found = [message.properties() for message in messages_of(official, topic)]
    assert found == [{"n": "0"}, {"n": "1"}, {"n": "0"}, {}]
    inner = spark.range(1).selectExpr("'x' value", "map('n', cast(null as string)) __messageProperties")
    assert "expected text for" in failure(lambda: save(inner, pulsar, topic=topic), "SchemaError")


@pytest.mark.parametrize("value_format", ["avro", "json", "protobuf"])
def test_tombstones_delete_keys_of_a_compacted_topic(
    value_format: str,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
    read_topic: ReadTopic,
) -> None:
    columns = "__key string, n int, t string"
    first = spark.createDataFrame([("a", 1, "x"), ("b", 2, "y"), ("c", 3, None)], columns)
    gone = spark.createDataFrame([("a", None, None), ("b", None, "z"), (None, None, None)], columns)
    for frame in (first, gone):
        save(frame.coalesce(1), pulsar, topic=topic, valueFormat=value_format, writeTombstones="true")
    messages = list(messages_of(official, topic))
    assert [message.has_null_value() for message in messages] == [False] * 3 + [True, False, False]
    admin.compact(topic)
    kept = read_topic(topic, readCompacted="true").where("__key is not null").collect()
    assert sorted((bytes(row["__key"]), row.n, row.t) for row in kept) == [(b"b", None, "z"), (b"c", 3, None)]


def test_records_of_nulls_are_no_tombstones_without_the_option(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, official: official_client.Client
) -> None:
    save(spark.createDataFrame([("a", None)], "__key string, n int"), pulsar, topic=topic)
    assert [message.has_null_value() for message in messages_of(official, topic)] == [False]


@pytest.mark.parametrize("through", ["foreachBatch", "the sink"])
def test_update_mode_upserts_by_key(
    through: str,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    tmp_path: Any,
    read_topic: ReadTopic,
) -> None:
    words = tmp_path / "words"
    for number, line in enumerate(["a b a", "b c", "a"]):
        words.mkdir(exist_ok=True)
        (words / f"{number}.txt").write_text("\n".join(line.split()))
    counts = (
        spark.readStream.option("maxFilesPerTrigger", 1).text(str(words)).groupBy("value").count()
    ).selectExpr("value __key", "`count` n")
    update = counts.writeStream.outputMode("update")
    if through == "foreachBatch":
        sink = update.foreachBatch(lambda frame, _: save(frame, pulsar, topic=topic))
    else:
        sink = update.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
    query = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert read_topic(topic).count() > 3
    admin.compact(topic)
    kept = {bytes(row["__key"]): row.n for row in read_topic(topic, readCompacted="true").collect()}
    assert kept == {b"a": 3, b"b": 2, b"c": 1}


@pytest.mark.parametrize(("value_format", "kind"), [("string", "STRING"), ("bytes", None)])
def test_plain_formats_write_the_value_column(
    value_format: str,
    kind: str | None,
    topic: str,
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    official: official_client.Client,
    refused: Refused,
) -> None:
    frame = spark.range(3).selectExpr("to_json(struct(*)) value")
    save(frame.coalesce(1), pulsar, topic=topic, valueFormat=value_format)
    schema = admin.schema(topic)
    assert (schema and schema["type"]) == kind
    assert texts(official, topic) == ['{"id":0}', '{"id":1}', '{"id":2}']
    said = refused(
        lambda: save(spark.range(1), pulsar, topic=f"{topic}-x", valueFormat=value_format), "SchemaError"
    )
    assert "expected one column value" in said


def test_save_modes(topic: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused) -> None:
    writer = (
        spark.range(1).write.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
    )
    said = refused(lambda: writer.mode("overwrite").save(), "OptionError")
    assert 'expected mode("append"), or INSERT INTO in SQL, got overwrite' in said
    assert "drop the topic first to replace its messages, or choose a new topic" in said
    for mode in ("errorifexists", "ignore"):
        with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
            writer.mode(mode).save()
