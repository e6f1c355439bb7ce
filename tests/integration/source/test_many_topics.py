"""Many small topics: few tasks, and each message once and in order, in batch, stream and sink."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from integration.official import Admin, messages_of, python_client
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.subscribe import begin_subscribe, subscribe
from pyspark_pulsar.inspect.planned_splits import planned_splits
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.planning.splits.tasks import LEAST_OF_TINY, LEAST_TASKS
from pyspark_pulsar.read.sources import ahead, broker
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.split_reader import read_splits
from pyspark_pulsar.schema.read_schema import ReadSchema
from pyspark_pulsar.tools.standalone import LocalPulsar

TOPICS = 150
Texts = dict[str, list[str]]


def produce(pulsar: LocalPulsar, namespace: str, round_: int) -> Texts:
    """Two messages to each topic, to every seventh none."""
    client = official_client.Client(pulsar.service_url)
    sent: Texts = {}
    for number in range(TOPICS):
        topic = f"persistent://{namespace}/t{number:03}"
        producer = client.create_producer(topic)
        texts = [f"{number}-{round_}-{index}" for index in range(2 if number % 7 else 0)]
        for text in texts:
            producer.send(text.encode())
        producer.close()
        sent[topic] = texts
    client.close()
    return {topic: texts for topic, texts in sent.items() if texts}


def texts_of(rows: DataFrame) -> Texts:
    texts: Texts = defaultdict(list)
    for row in rows.selectExpr("__topic", "cast(value as string) text").collect():
        texts[row[0]].append(row[1])
    return dict(texts)


@pytest.mark.parametrize("with_admin", [True, False])
def test_batch_and_stream(
    spark: SparkSession,
    pulsar: LocalPulsar,
    admin: Admin,
    tmp_path: Path,
    *,
    with_admin: bool,
) -> None:
    namespace = f"public/many-topics-{with_admin}".lower()
    admin.make_namespace(namespace)
    options = {"service.url": pulsar.service_url, "topicsPattern": f"persistent://{namespace}/t.*"}
    if with_admin:
        options["admin.url"] = pulsar.admin_url
    sent = produce(pulsar, namespace, 0)

    batch = spark.read.format("pulsar").options(**options).load()
    assert texts_of(batch) == sent
    tasks = batch.rdd.getNumPartitions()
    assert LEAST_OF_TINY <= tasks <= LEAST_TASKS, (
        "brokers tell how little it is, with or without the admin REST API"
    )

    target = str(tmp_path / "rows")
    writer = (
        spark.readStream.format("pulsar")
        .options(**options, startingOffsets="earliest")
        .load()
        .selectExpr("__topic", "value")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    writer.start(target).awaitTermination()
    assert texts_of(spark.read.parquet(target)) == sent
    further = produce(pulsar, namespace, 1)
    files = len(list(Path(target).glob("*.parquet")))
    writer.start(target).awaitTermination()
    everything = {topic: sent[topic] + further[topic] for topic in sent}
    read = texts_of(spark.read.parquet(target))
    assert {topic: sorted(texts) for topic, texts in read.items()} == everything
    # Where ledgers are not known, positions in one ledger say how little it is.
    assert len(list(Path(target).glob("*.parquet"))) - files <= 2 * LEAST_TASKS


def test_rows_name_many_topics(spark: SparkSession, pulsar: LocalPulsar, admin: Admin) -> None:
    """Topics are settled and opened by several threads; the rows of each stay in their order."""
    namespace = "public/many-targets"
    admin.make_namespace(namespace)
    for number in range(60):
        if number % 3:
            admin.create(f"persistent://{namespace}/t{number}")
        else:
            admin.create_partitioned(f"persistent://{namespace}/t{number}", 2)
    rows = spark.range(0, 1_200, 1, 2).selectExpr(
        "id", f"concat('persistent://{namespace}/t', id % 60) __topic", "cast(id % 60 as string) __key"
    )
    for guarantee in ("at-least-once", "exactly-once"):
        rows.write.format("pulsar").mode("append").options(
            **{
                "service.url": pulsar.service_url,
                "admin.url": pulsar.admin_url,
                "deliveryGuarantee": guarantee,
                "transactionJournal": f"{namespace}/journal",
            }
        ).save()
    client = official_client.Client(pulsar.service_url)
    for number in (0, 1, 30, 59):
        topic = f"persistent://{namespace}/t{number}"
        assert len(list(messages_of(client, topic))) == 40
    client.close()
    back = spark.read.format("pulsar").options(
        **{"service.url": pulsar.service_url, "topicsPattern": f"persistent://{namespace}/t.*"}
    )
    ids = {number: list(range(number, 1_200, 60)) for number in range(60)}
    read: dict[int, list[int]] = defaultdict(list)
    for row in back.load().select("__topic", "id").collect():
        read[int(row[0].rpartition("/t")[2])].append(row[1])
    # Written twice, by two tasks at a time: the first half of the ids by one, the second by the other.
    for number, expected in ids.items():
        assert sorted(read[number]) == sorted(2 * expected)
        for half in (range(600), range(600, 1_200)):
            of_task = [id_ for id_ in read[number] if id_ in half]
            assert of_task == 2 * [id_ for id_ in expected if id_ in half] or number % 3 == 0


def test_a_plan_says_which_task_reads_a_split(pulsar: LocalPulsar, admin: Admin) -> None:
    namespace = "public/many-planned"
    admin.make_namespace(namespace)
    sent = produce(pulsar, namespace, 0)
    texts = {
        "service.url": pulsar.service_url,
        "admin.url": pulsar.admin_url,
        "topicsPattern": f"persistent://{namespace}/t.*",
    }
    options = parse_options(ReadOptions, texts)
    plan = plan_batch(options)
    assert len(plan.splits) == len(sent)
    assert LEAST_OF_TINY <= len(plan.tasks) <= LEAST_TASKS
    assert [split for task in plan.tasks for split in task] == plan.splits


def test_of_many_small_topics_no_ledger_is_asked_for(
    pulsar: LocalPulsar, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers tell in one answer where a topic begins and ends."""
    namespace = "public/many-untold"
    admin.make_namespace(namespace)
    sent = produce(pulsar, namespace, 0)
    asked: list[str] = []
    get = RestClient.get

    def counted(self: RestClient, path: str, *rest: Any) -> Any:
        asked.append(path)
        return get(self, path, *rest)

    monkeypatch.setattr(RestClient, "get", counted)
    options = options_of(pulsar, namespace)
    plan = plan_batch(options)
    assert not asked
    assert len(plan.splits) == len(sent)
    for split in plan.splits:
        (split_range,) = split.ranges
        assert (split_range.start.entry, split_range.start.ledger) == (0, split.end.ledger)
    shown = plan_batch(options, is_shown=True)
    assert shown.splits == plan.splits
    assert {split.entries for split in planned_splits(shown)} == {2}
    # With a second ledger that may be closed, and read past the broker, they are.
    topic = next(iter(sent))
    admin.unload(topic)
    with python_client(pulsar.service_url) as client:
        client.create_producer(topic).send(b"more")
    asked.clear()
    plan_batch(options)
    assert [topic.rpartition("/")[2] in path for path in asked if "internal-info" in path] == [True]


def test_a_task_subscribes_ahead_and_reads_on_whatever_moves(
    pulsar: LocalPulsar, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is answered later is read too, but not ahead.
    monkeypatch.setattr(ahead, "_LOOKUP_SECONDS", 60.0)
    namespace = "public/many-ahead"
    admin.make_namespace(namespace)
    sent = produce(pulsar, namespace, 0)
    options = options_of(pulsar, namespace, columns=("__topic", "value"))
    splits = plan_batch(options).splits
    subscribed: list[str] = []
    waited: list[str] = []

    def counted(client: BrokerClient, connection: Any, topic: str, *rest: Any, **named: Any) -> Any:
        subscribed.append(topic)
        return begin_subscribe(client, connection, topic, *rest, **named)

    def alone(client: BrokerClient, topic: str, *rest: Any, **named: Any) -> Any:
        waited.append(topic)
        return subscribe(client, topic, *rest, **named)

    monkeypatch.setattr(ahead, "begin_subscribe", counted)
    monkeypatch.setattr(broker, "subscribe", alone)
    schema = resolve_source_schema(options)
    assert read(options, schema, splits) == sent
    assert subscribed == [split.partition.name for split in splits]
    assert not waited, "no split has waited for its own subscription"

    def unload(number: int) -> None:
        if number % 20 == 3:
            for split in splits[number : number + 4]:
                admin.unload(split.partition.name)

    assert read(options, schema, splits, unload) == sent
    assert waited, "the consumers ahead of topics that moved were lost"


def options_of(pulsar: LocalPulsar, namespace: str, **options: Any) -> ReadOptions:
    texts = {
        "service.url": pulsar.service_url,
        "admin.url": pulsar.admin_url,
        "topicsPattern": f"persistent://{namespace}/t.*",
    }
    return replace(parse_options(ReadOptions, texts), **options)


def read(
    options: ReadOptions,
    schema: ReadSchema,
    splits: list[Split],
    between: Callable[[int], None] = lambda _: None,
) -> Texts:
    """As one task."""
    texts: Texts = defaultdict(list)
    for number, batch in enumerate(read_splits(options, schema, splits)):
        between(number)
        for topic, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            texts[topic].append(value.decode())
    return dict(texts)
