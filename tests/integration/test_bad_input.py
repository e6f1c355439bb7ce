"""What a user can do wrong: each is refused before any task starts, in words that say what to do."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.consumer import subscribe
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.errors import CorruptEntryError
from pyspark_pulsar.message_id import EARLIEST
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.source_schema import resolve_source_schema
from pyspark_pulsar.standalone import LocalPulsar

AVRO = json.dumps(
    {"type": "record", "name": "R",
     "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"]}]}
)  # fmt: skip

Refused = Callable[[Callable[[], Any], str], str]


@pytest.fixture
def refused(spark: SparkSession) -> Refused:
    """`refused(action, kind)`: the text with which `action` fails before any task ran; names `kind`."""
    tracker = spark.sparkContext.statusTracker()

    def check(action: Callable[[], Any], kind: str) -> str:
        group = f"refused-{time.monotonic_ns()}"
        spark.sparkContext.setJobGroup(group, "must not start")
        try:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark wraps what Python raises
                action()
        finally:
            spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        text = str(caught.value)
        assert kind in text, text
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            stages = [] if info is None else [tracker.getStageInfo(each) for each in info.stageIds]
            assert not any(
                stage.numActiveTasks + stage.numCompletedTasks + stage.numFailedTasks
                for stage in stages
                if stage
            )
        return text

    return check


@pytest.fixture
def filled(topic: str, official: official_client.Client) -> str:
    """A plain topic with ten messages."""
    producer = official.create_producer(topic)
    for number in range(10):
        producer.send(str(number).encode())
    producer.close()
    return topic


def load(spark: SparkSession, **options: str) -> DataFrame:
    return spark.read.format("pulsar").options(**options).load()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"topic": "t", "startingOffset": "latest"}, "OptionError", ["did you mean 'startingOffsets'"]),
        ({"topic": "t", "colour": "red"}, "OptionError", ["unknown option", "colour", "known are"]),
        ({"topic": "t", "topics": "a,b"}, "OptionError", ["exactly one", "topic and topics"]),
        ({}, "OptionError", ["exactly one", "none of them"]),
        ({"topics": "a,b", "subscribe": "c"}, "OptionError", ["mean the same"]),
        ({"topic": "tenant/only"}, "TopicNameError", ["expected", "tenant/namespace/topic"]),
        ({"topic": "http://a/b/c"}, "TopicNameError", ["persistent://", "http://"]),
        ({"topic": "persistent://a b/c/d"}, "TopicNameError", ["tenant", "a b"]),
        ({"topic": "non-persistent://public/default/x"}, "OptionError", ["expected a persistent topic"]),
        ({"topicsPattern": "public/default/["}, "OptionError", ["regular expression", "["]),
        ({"topicsPattern": "no-such-topic-at-all-.*"}, "TopicNotFoundError", ["at least one topic", "no-such-topic"]),
        ({"topic": "t", "batchRows": "0"}, "OptionError", ["batchRows", "whole number from 1", "'0'"]),
        ({"topic": "t", "pollTimeoutMs": "soon"}, "OptionError", ["pollTimeoutMs", "'soon'"]),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, dict) else "",
)  # fmt: skip
def test_bad_options_of_a_read(
    options: dict[str, str],
    kind: str,
    words: list[str],
    spark: SparkSession,
    pulsar: LocalPulsar,
    refused: Refused,
) -> None:
    text = refused(lambda: load(spark, **{"service.url": pulsar.service_url}, **options).collect(), kind)
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    "url", ["http://localhost:8080", "localhost:6650", "", "pulsar://", "pulsar://host:port"]
)
def test_bad_service_url(url: str, spark: SparkSession, refused: Refused) -> None:
    text = refused(lambda: load(spark, **{"service.url": url, "topic": "t"}).collect(), "OptionError")
    assert "service.url" in text
    assert "pulsar://host:port" in text


def test_missing_service_url(spark: SparkSession, refused: Refused) -> None:
    text = refused(lambda: load(spark, topic="t").collect(), "OptionError")
    assert "'service.url' is missing" in text


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("direction", ["read", "readStream", "write"])
def test_refused_connection_fails_soon(direction: str, spark: SparkSession, refused: Refused) -> None:
    url = f"pulsar://127.0.0.1:{unused_port()}"
    options = {"service.url": url, "topic": "t"}
    actions = {
        "read": lambda: load(spark, **options).collect(),
        "readStream": lambda: spark.readStream.format("pulsar").options(**options).load(),
        "write": lambda: spark.range(1).write.format("pulsar").options(**options).mode("append").save(),
    }
    began = time.monotonic()
    text = refused(actions[direction], "ConnectionFailed")
    assert time.monotonic() - began < 15
    assert url.removeprefix("pulsar://") in text
    assert "check that Pulsar runs there" in text


def test_wrong_port_of_the_right_server(spark: SparkSession, pulsar: LocalPulsar, refused: Refused) -> None:
    url = "pulsar://" + pulsar.admin_url.removeprefix("http://")
    began = time.monotonic()
    text = refused(lambda: load(spark, **{"service.url": url, "topic": "t"}).collect(), "ConnectionFailed")
    assert time.monotonic() - began < 30
    assert "binary port" in text


@pytest.mark.parametrize("name", ["{}", "{}-partition-0"])
def test_missing_topic_is_an_error_and_stays_missing(
    name: str, topic: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused, admin: Admin
) -> None:
    options = {"service.url": pulsar.service_url, "topic": name.format(topic)}
    for action in (
        lambda: load(spark, **options).collect(),
        lambda: spark.readStream.format("pulsar").options(**options).load(),
    ):
        text = refused(action, "TopicNotFoundError")
        assert topic in text
        assert "create" in text
    assert not [each for each in admin.topics() if each.startswith(topic)]


def test_one_missing_topic_among_several(
    filled: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused, admin: Admin
) -> None:
    missing = f"{filled}-missing"
    options = {"service.url": pulsar.service_url, "topics": f"{filled},{missing}"}
    assert missing in refused(lambda: load(spark, **options).collect(), "TopicNotFoundError")
    assert missing not in admin.topics()


@pytest.mark.parametrize("key", ["startingOffsets", "endingOffsets"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("begin", ["JSON", "begin"]),
        ('["a"]', ["JSON"]),
        ('{"%s": 5}', ["JSON"]),
        ('{"%s": "1-2"}', ["ledger:entry", "1-2"]),
        ('{"%s": "-3:0"}', ["ledger:entry", "-3:0"]),
        ('{"%s-other": "0:0"}', ["-other", "does not read"]),
        ("{}", ["none for"]),
        ('{"%s": "999999999:0"}', ["behind its last", "999999999:0"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_bounds(
    key: str, text: str, words: list[str], filled: str, read_topic: ReadTopic, refused: Refused
) -> None:
    value = text.replace("%s", filled)
    message = refused(lambda: read_topic(filled, **{key: value}).collect(), "OptionError")
    for word in [key, *words]:
        assert word in message, message


def test_bounds_of_a_stream_are_checked(
    filled: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    reader = (
        spark.readStream.format("pulsar").option("service.url", pulsar.service_url).option("topic", filled)
    )

    def start(**options: str) -> Any:
        query = reader.options(**options).load().writeStream.format("noop").start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    assert "spark.read" in refused(lambda: start(endingOffsets="latest"), "OptionError")


def test_bounds_of_a_stream_must_be_json(
    filled: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    reader = (
        spark.readStream.format("pulsar").option("service.url", pulsar.service_url).option("topic", filled)
    )
    query = reader.option("startingOffsets", "begin").load().writeStream.format("noop")
    text = refused(lambda: query.start().processAllAvailable(), "OptionError")
    assert "begin" in text


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("PROTOBUF", json.dumps({"type": "record", "name": "P", "fields": [{"name": "a", "type": "int"}]})),
        ("INSTANT", ""),
        ("DATE", ""),
        ("KEY_VALUE", json.dumps({"key": json.loads(AVRO), "value": json.loads(AVRO)})),
    ],
)
def test_unsupported_schema_types(
    kind: str, document: str, topic: str, spark: SparkSession, admin: Admin, read_topic: ReadTopic, refused: Refused,
    pulsar: LocalPulsar,
) -> None:  # fmt: skip
    admin.create(topic)
    parts = {"key.schema.type": "AVRO", "value.schema.type": "AVRO"} if kind == "KEY_VALUE" else {}
    admin.register(topic, kind, document, **parts)
    writer = spark.createDataFrame([("a",)], "value string").write.format("pulsar").mode("append")
    writer = writer.option("service.url", pulsar.service_url).option("topic", topic)
    for action in (lambda: read_topic(topic).collect(), writer.save):
        text = refused(action, "SchemaError")
        assert topic in text
        assert f"got {kind}" in text
        assert "AVRO, JSON" in text.replace("JSON, AVRO", "AVRO, JSON")


def test_topics_with_different_schemas(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, refused: Refused
) -> None:
    for suffix, kind in (("-a", "STRING"), ("-b", "INT32")):
        admin.create(topic + suffix)
        admin.register(topic + suffix, kind)
    options = {"service.url": pulsar.service_url, "topics": f"{topic}-a,{topic}-b"}
    text = refused(lambda: load(spark, **options).collect(), "SchemaError")
    for word in ("STRING", "INT32", "-a", "-b", "read them apart"):
        assert word in text


@pytest.mark.parametrize(
    ("kind", "document", "columns", "words"),
    [
        ("AVRO", AVRO, "id string, name string", ["id is string", "cast it"]),
        ("AVRO", AVRO, "id bigint, name string", ["id is int64", "int32"]),
        ("AVRO", AVRO, "name string", ["id (int32) is required", "add it"]),
        ("AVRO", AVRO, "id int, nmae string", ["nmae is not in the topic's schema", "did you mean name"]),
        ("JSON", AVRO, "id int, name int", ["name is int32", "string"]),
        ("INT32", "", "value string", ["column value of type string", "cast it to int32"]),
        ("INT32", "", "number int", ["column number", "value"]),
        ("INT32", "", "value int, __topik string", ["__topik", "did you mean __topic"]),
        ("INT32", "", "value int, __eventTime string", ["__eventTime", "timestamp"]),
    ],
    ids=lambda value: value if isinstance(value, str) and not value.startswith("{") else "",
)
def test_write_that_does_not_fit_sends_nothing(
    kind: str, document: str, columns: str, words: list[str], topic: str, spark: SparkSession, admin: Admin,
    pulsar: LocalPulsar, refused: Refused,
) -> None:  # fmt: skip
    admin.create(topic)
    admin.register(topic, kind, document)
    before = admin.schema(topic)
    named = [each.split() for each in columns.split(", ")]
    writer = spark.range(100).selectExpr(*[f"cast(null as {kind}) as {name}" for name, kind in named])
    save = (
        writer.write.format("pulsar")
        .option("service.url", pulsar.service_url)
        .option("topic", topic)
        .mode("append")
        .save
    )
    text = refused(save, "SchemaError")
    for word in [topic, *words]:
        assert word in text, text
    assert admin.entries(topic) == 0
    assert admin.schema(topic) == before


def test_value_format_of_another_schema(
    topic: str, spark: SparkSession, admin: Admin, pulsar: LocalPulsar, refused: Refused
) -> None:
    admin.create(topic)
    admin.register(topic, "AVRO", AVRO)
    writer = spark.range(1).selectExpr("cast(id as int) id").write.format("pulsar").mode("append")
    options = {"service.url": pulsar.service_url, "topic": topic, "valueFormat": "json"}
    assert "leave the format out" in refused(writer.options(**options).save, "SchemaError")
    assert admin.entries(topic) == 0


@pytest.mark.parametrize(
    ("options", "mode", "kind", "words"),
    [
        ({}, "append", "OptionError", ["'topic' is missing"]),
        ({"topic": "t", "valueFromat": "json"}, "append", "OptionError", ["did you mean 'valueFormat'"]),
        ({"topic": "t", "valueFormat": "xml"}, "append", "OptionError", ["one of avro, json", "xml"]),
        ({"topic": "t", "startingOffsets": "latest"}, "append", "OptionError", ["unknown option", "startingOffsets"]),
        ({"topic": "t", "pulsar.producer.compressionType": "GZIP"}, "append", "OptionError", ["NONE, LZ4", "GZIP"]),
        ({"topic": "a/b"}, "append", "TopicNameError", ["tenant/namespace/topic"]),
        ({"topic": "non-persistent://public/default/w"}, "append", "OptionError", ["expected a persistent topic"]),
        ({"topic": "t"}, "overwrite", "OptionError", ['mode("append")', "overwrite", "cannot be overwritten"]),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, dict) else "",
)  # fmt: skip
def test_bad_options_of_a_write(
    options: dict[str, str],
    mode: str,
    kind: str,
    words: list[str],
    spark: SparkSession,
    pulsar: LocalPulsar,
    refused: Refused,
) -> None:
    writer = (
        spark.range(3).write.format("pulsar").option("service.url", pulsar.service_url).options(**options)
    )
    text = refused(writer.mode(mode).save, kind)
    for word in words:
        assert word.lower() in text.lower(), text  # Spark hands a writer its keys in lower case.


def test_a_flipped_bit_names_topic_ledger_and_entry(filled: str, pulsar: LocalPulsar) -> None:
    options = parse_options(ReadOptions, {"service.url": pulsar.service_url, "topic": filled})
    data, (ledger, entry) = stored_entry(options, filled)
    assert decoded_rows(options, filled, ledger, entry, data) == 1
    checked = data.index(b"\x0e\x01") + 2  # Behind the magic of the checksum every bit is guarded by it.
    for position in range(checked, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(CorruptEntryError) as caught:
            decoded_rows(options, filled, ledger, entry, bytes(damaged))
        for word in (f"topic {filled}", f"ledger {ledger}", f"entry {entry}", "damaged"):
            assert word in str(caught.value)


def decoded_rows(options: ReadOptions, topic: str, ledger: int, entry: int, data: bytes) -> int:
    entries = EntryBatch()
    entries.push(ledger, entry, data)
    decoder = EntryDecoder(
        resolve_source_schema(options), topic=topic, partition=-1, fetch_document=lambda _: None
    )
    return sum(batch.num_rows for batch in [*decoder.decode(entries), *decoder.finish()])


def stored_entry(options: ReadOptions, topic: str) -> tuple[bytes, tuple[int, int]]:
    """The first entry's bytes as the broker sends them, cut from the MESSAGE frame on the socket, and its id."""
    received = bytearray()
    with BrokerClient(options) as client:
        connection = client.owner_connection(topic)
        feed = connection._feed

        def listen(data: bytes) -> list[bytes]:
            received.extend(data)
            return feed(data)

        connection._feed = listen  # type: ignore[method-assign]
        consumer = subscribe(client, topic, EARLIEST)
        received.clear()
        consumer.allow(1)
        entries = consumer.take(10)
        consumer.close()
    assert entries is not None
    assert entries.first is not None
    total = int.from_bytes(received[0:4], "big")
    command = int.from_bytes(received[4:8], "big")
    return bytes(received[8 + command : 4 + total]), entries.first
