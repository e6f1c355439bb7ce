"""Wrong options and topics of a read: each is refused before any task starts, with a message that names the
remedy.
"""

from __future__ import annotations

import socket
import time

import pytest
from click.testing import CliRunner
from fixtures.fix_spark import ReadTopic
from integration.official import ONE_RECORD, Admin, Refused
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar


def load(spark: SparkSession, **options: str) -> DataFrame:
    return spark.read.format("pulsar").options(**options).load()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"topic": "t", "startingOffset": "latest"}, "OptionError", ["did you mean 'startingOffsets'"]),
        ({"topic": "t", "zzz": "red"}, "OptionError", ["unknown option", "zzz", 'the page "Options"']),
        ({"topic": "t", "topics": "a,b"}, "OptionError", ["exactly one", "topic and topics"]),
        ({}, "OptionError", ["exactly one", "none of the options"]),
        ({"topics": "a,b", "subscribe": "c"}, "OptionError", ["mean the same"]),
        ({"topic": "tenant/only"}, "TopicNameError", ["expected", "tenant/namespace/topic"]),
        ({"topic": "http://a/b/c"}, "TopicNameError", ["persistent://", "http://"]),
        ({"topic": "persistent://a b/c/d"}, "TopicNameError", ["tenant", "a b"]),
        ({"topic": "non-persistent://public/default/x"}, "OptionError", ["persistent topic", "Non-persistent topics"]),
        ({"topicsPattern": "non-persistent://public/default/x.*"}, "OptionError", ["Non-persistent topics"]),
        ({"topic": "persistent://public/default/.."}, "TopicNameError", ["'..'"]),
        ({"topic": "persistent://public/../tenants"}, "TopicNameError", ["'..'"]),
        ({"topic": "persistent://public/cluster/ns/x"}, "TopicNameError", ["Pulsar 1"]),
        ({"topicsPattern": "public/default/["}, "OptionError", ["regular expression", "["]),
        ({"topicsPattern": "no-such-topic-at-all-.*"}, "TopicNotFoundError", ["at least one topic", "no-such-topic"]),
        ({"topic": "t", "batchRows": "0"}, "OptionError", ["batchRows", "whole number from 1", "'0'"]),
        ({"topic": "t", "pollTimeoutMs": "soon"}, "OptionError", ["pollTimeoutMs", "'soon'"]),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, dict) else "",
)  # fmt: skip
def test_bad_options_of_a_read_are_refused(
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
def test_a_bad_service_url_is_refused(url: str, spark: SparkSession, refused: Refused) -> None:
    text = refused(lambda: load(spark, **{"service.url": url, "topic": "t"}).collect(), "OptionError")
    assert "service.url" in text
    assert "pulsar://host:port" in text


def test_a_missing_service_url_is_refused(spark: SparkSession, refused: Refused) -> None:
    text = refused(lambda: load(spark, topic="t").collect(), "OptionError")
    assert "'service.url' is missing" in text


def test_a_topic_that_does_not_exist_names_similar_ones(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, refused: Refused
) -> None:
    admin.create_partitioned(topic, 2)
    options = {"service.url": pulsar.service_url, "topic": topic[:-1] + ("0" if topic[-1] != "0" else "1")}
    text = refused(lambda: load(spark, **options).collect(), "TopicNotFoundError")
    assert (
        f"does not exist; create it, or correct the name (a read never creates a topic); did you mean '{topic}'"
        in text
    )


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
    assert time.monotonic() - began < 25
    assert url.removeprefix("pulsar://") in text
    assert "check that Pulsar runs there" in text


@pytest.mark.parametrize("command", ["plan", "segments", "tier run"])
def test_commands_fail_as_fast_as_a_query(command: str) -> None:
    url = f"pulsar://127.0.0.1:{unused_port()}"
    arguments = [*command.split(), "t", "--service-url", url, "--admin-url", "http://127.0.0.1:1"]
    if command == "tier run":
        arguments += ["--catalog", '{"type": "in-memory"}']
    began = time.monotonic()
    result = CliRunner().invoke(cli, arguments)
    assert time.monotonic() - began < 20
    assert isinstance(result.exception, ConnectionFailed), result.output
    assert url.removeprefix("pulsar://") in str(result.exception)


def test_the_error_of_a_wrong_port_names_the_right_one(
    spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    url = "pulsar://" + pulsar.admin_url.removeprefix("http://")
    began = time.monotonic()
    text = refused(lambda: load(spark, **{"service.url": url, "topic": "t"}).collect(), "ConnectionFailed")
    assert time.monotonic() - began < 60
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
        ('{"%s": "999999999:0"}', ["because no message is at or after this position", "999999999:0"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_bounds_are_refused(
    key: str, text: str, words: list[str], filled: str, read_topic: ReadTopic, refused: Refused
) -> None:
    value = text.replace("%s", filled)
    message = refused(lambda: read_topic(filled, **{key: value}).collect(), "OptionError")
    for word in [key, *words]:
        assert word in message, message


def test_bounds_of_a_stream_must_be_json(
    filled: str, spark: SparkSession, pulsar: LocalPulsar, refused: Refused
) -> None:
    reader = (
        spark.readStream.format("pulsar").option("service.url", pulsar.service_url).option("topic", filled)
    )
    # The error appears before a query is started.
    assert "begin" in refused(lambda: reader.option("startingOffsets", "begin").load(), "OptionError")


@pytest.mark.parametrize(
    ("kind", "document", "words"),
    [
        ("PROTOBUF", ONE_RECORD, ["__PARSING_INFO__", "protobufDescriptorFile"]),
    ],
)
def test_schemas_without_columns_are_refused(
    kind: str, document: str, words: list[str], topic: str, spark: SparkSession, admin: Admin,
    read_topic: ReadTopic, refused: Refused, pulsar: LocalPulsar,
) -> None:  # fmt: skip
    admin.create(topic)
    admin.register(topic, kind, document)
    writer = spark.createDataFrame([("a",)], "value string").write.format("pulsar").mode("append")
    writer = writer.option("service.url", pulsar.service_url).option("topic", topic)
    for action in (lambda: read_topic(topic).collect(), writer.save):
        text = refused(action, "SchemaError")
        for word in (topic, *words):
            assert word in text


def test_topics_with_different_schemas_are_refused(
    topic: str, spark: SparkSession, pulsar: LocalPulsar, admin: Admin, refused: Refused
) -> None:
    for suffix, kind in (("-a", "STRING"), ("-b", "INT32")):
        admin.create(topic + suffix)
        admin.register(topic + suffix, kind)
    options = {"service.url": pulsar.service_url, "topics": f"{topic}-a,{topic}-b"}
    text = refused(lambda: load(spark, **options).collect(), "SchemaError")
    for word in ("STRING", "INT32", "-a", "-b", "read the topics separately"):
        assert word in text
