"""Names of topics that producers may choose: each is one topic, in every way in which this package meets it."""

from __future__ import annotations

import json
import random
import re
import sys
import uuid
from pathlib import Path

import pulsar as official_client
import pytest
from click.testing import CliRunner
from integration.official import Admin, JavaClient, messages_of
from pyspark.sql import SparkSession

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.producer import PROBE_ID, Producer
from pyspark_pulsar.errors import OptionError, TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.standalone import LocalPulsar

ODD = (
    "x-partition-1", "y", "y-partition-0", "x-partition-01", "x-partition-\u0663", "has space", " outer ", "line\nend",
    "esc\x1b[31m", "bidi\u202e", "a%2Fb", "a?b=c;d#e+", "a,b", '`tick`"', "n" * 300,
)  # fmt: skip


@pytest.fixture(scope="module")
def options(pulsar: LocalPulsar) -> dict[str, str]:
    return {"service.url": pulsar.service_url, "admin.url": pulsar.admin_url}


@pytest.fixture(scope="module")
def namespace(options: dict[str, str], admin: Admin, official: official_client.Client) -> str:
    """With a topic of each odd name, whose one message is the name; and one that this package cannot use."""
    namespace = f"public/names-{uuid.uuid4().hex[:12]}"
    admin.make_namespace(namespace)
    with BrokerClient(parse_options(ReadOptions, {**options, "topic": "any"})) as client:
        # No client but a raw one makes topics of all these names.
        Producer(client, f"persistent://{namespace}/..", PROBE_ID, None, 30.0).open()
        for name in ODD:
            producer = Producer(client, f"persistent://{namespace}/{name}", PROBE_ID, None, 30.0)
            producer.open()
            producer.close()
    for name in ODD:
        sender = official.create_producer(f"persistent://{namespace}/{name}")
        sender.send(name.encode())
        sender.close()
    return namespace


def test_every_topic_of_a_pattern_is_read_as_itself(
    spark: SparkSession, options: dict[str, str], namespace: str
) -> None:
    begin = f"persistent://{namespace}/"
    frame = spark.read.format("pulsar").options(**options, topicsPattern=f"{begin}.*").load()
    found = sorted((row["value"].decode(), row["__topic"]) for row in frame.collect())
    # Two of them are partitions by their names, though of no topic that has any.
    wholes = {"x-partition-1": "x", "y-partition-0": "y"}
    assert found == sorted((name, begin + wholes.get(name, name)) for name in ODD)


def test_a_pattern_that_matches_one_topic_is_not_stopped_by_others(
    spark: SparkSession, options: dict[str, str], namespace: str
) -> None:
    reader = spark.read.format("pulsar").option("service.url", options["service.url"])
    frame = reader.option("topicsPattern", f"persistent://{namespace}/has.*").load()
    assert [row["value"] for row in frame.collect()] == [b"has space"]


def test_rows_make_topics_and_go_to_them(
    spark: SparkSession, options: dict[str, str], namespace: str, official: official_client.Client
) -> None:
    named = [f"persistent://{namespace}/to{name}" for name in ODD if "-partition-" not in name]
    writer = {**options, "valueFormat": "bytes"}
    rows = spark.createDataFrame([(name,) for name in named], "__topic string")
    to_each = rows.selectExpr("__topic", "cast(__topic AS binary) AS value").write.format("pulsar")
    to_each.options(**writer, partitions="0").mode("append").save()
    ending_in_a_blank = f"persistent://{namespace}/to outer "
    to_one = spark.createDataFrame([(b"more",)], "value binary").write.format("pulsar")
    to_one.options(**writer, topic=json.dumps(ending_in_a_blank)).mode("append").save()
    for name in named:
        expected = [name, "more"] if name == ending_in_a_blank else [name]
        assert [each.data().decode() for each in messages_of(official, name)] == expected


def test_the_catalog_finds_what_it_lists(
    spark: SparkSession, options: dict[str, str], namespace: str
) -> None:
    catalog = f"names_{uuid.uuid4().hex[:8]}"
    for key, value in catalog_settings(
        catalog=catalog, options={**options, "python": sys.executable}
    ).items():
        spark.conf.set(key, value)
    listed = {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {catalog}.`{namespace}`").collect()}
    assert listed >= set(ODD)
    assert ".." not in listed
    tables = {name: f"{catalog}.`{namespace}`.`{name.replace('`', '``')}`" for name in ODD}
    union = " UNION ALL ".join(f"SELECT value FROM {table}" for table in tables.values())
    assert sorted(row["value"].decode() for row in spark.sql(union).collect()) == sorted(ODD)
    for name in (" outer ", "line\nend", "a%2Fb"):
        spark.sql(f"ALTER TABLE {tables[name]} SET TBLPROPERTIES ('k' = '1')")
        assert spark.sql(f"SHOW TBLPROPERTIES {tables[name]} ('k')").first()["value"] == "1"
        ledgers = f"{catalog}.`{namespace}`.`{name}$segments`"
        assert spark.table(ledgers).selectExpr("sum(entries)").first()[0] == 1


@pytest.mark.parametrize("command", ["plan", "segments"])
def test_the_command_shows_names_that_a_terminal_prints(
    command: str, options: dict[str, str], namespace: str, tmp_path: Path
) -> None:
    names = [
        f"persistent://{namespace}/{name}"
        for name in ("esc\x1b[31m", "line\nend", "bidi\u202e", " outer ", "a,b")
    ]
    arguments = [
        command,
        *names,
        "--service-url",
        options["service.url"],
        "--admin-url",
        options["admin.url"],
    ]
    text = CliRunner().invoke(cli, arguments, catch_exceptions=False).output
    # The lines of a table are not letters, but a terminal prints them.
    assert [line for line in text.splitlines() if not line.isprintable()] == []
    unfolded = re.sub(r"\s", "", text)
    for shown in (r"esc\x1b[31m", r"line\nend", r"bidi\u202e", "a,b"):
        assert shown in unfolded
    printed = CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False).output
    found = {json.loads(line)["topic"] for line in printed.splitlines()}
    assert found == set(names)
    assert printed.replace("\n", "").isprintable()
    if command == "segments":
        page = tmp_path / "page.html"
        CliRunner().invoke(cli, [*arguments, "--html", str(page)], catch_exceptions=False)
        assert all(line.isprintable() for line in page.read_text(encoding="utf-8").splitlines())


def test_no_name_reaches_another_resource(options: dict[str, str], admin: Admin) -> None:
    """On an unquoted path the server answers for the folder above: it would delete the namespace."""
    namespace = Namespace("public", f"names-{uuid.uuid4().hex[:12]}")
    admin.make_namespace(str(namespace))
    with AdminClient(parse_options(ReadOptions, {**options, "topic": "any"})) as client:
        hostile = ("%2e%2e", "a/../../b", "?x=y", "#", ";a=b", "%", "a b")
        for key in hostile:
            client.namespaces.set_property(namespace, key, "1")
        for key in ("..", "."):
            with pytest.raises(OptionError, match="expected a name"):
                client.namespaces.remove_property(namespace, key)
        assert client.namespaces.properties(namespace) == dict.fromkeys(hostile, "1")
        for key in hostile:
            client.namespaces.remove_property(namespace, key)
        assert client.namespaces.properties(namespace) == {}
        for tenant in ("..", "."):
            for ask in (client.tenants.exists, client.namespaces.of_tenant):
                with pytest.raises(OptionError, match="expected a name"):
                    ask(tenant)
        # Built past the parser, as no caller does.
        with pytest.raises(OptionError, match="expected a name"):
            client.topics.create(TopicName("persistent", namespace, ".."), 0)


def test_names_are_those_of_pulsars_own_class(pulsar: LocalPulsar, rng: random.Random) -> None:
    ranges = [
        *"aZ0 /:%.\n\t\u0663\uff11\u00a0\u2007\u3000\x85\x1c",
        "-partition-",
        "0",
        "1",
        "2147483648",
        "..",
        "://",
        "é",
    ]
    names = [
        rng.choice(["", "a/b/", "persistent://a/b/", "non-persistent://a/b/"])
        + "".join(rng.choices(ranges, k=rng.randrange(0, 6)))
        for _ in range(5000)
    ]
    (answers,) = [JavaClient(pulsar, "TopicNames").run({"names": names})]
    for name, answer in zip(names, answers, strict=True):
        try:
            topic = TopicName.parse(name)
        except TopicNameError:
            assert answer is None or _is_left_out(name, str(answer[0])), name
        else:
            assert answer is not None, name
            assert str(topic) == answer[0]
            assert topic.partition == (answer[1] if topic.local.isascii() else topic.partition)


def _is_left_out(given: str, name: str) -> bool:
    """What Pulsar takes and this package does not: names with a cluster, of folders, and short ones with slashes at
    their ends or in a row."""
    tenant, namespace, *local = name.partition("://")[2].split("/")
    return (
        len(local) > 1
        or bool({".", ".."} & {tenant, namespace, *local})
        or ("://" not in given and (given != given.strip("/") or "//" in given))
    )
