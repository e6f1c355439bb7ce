"""Messages that do not decode, in each mode, also with a selection of columns; against a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulsar as official_client
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import Admin, Refused, messages_of
from integration.raw_producer import RawProducer, proto
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.standalone import LocalPulsar

DOCUMENT = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"], "default": None}],
    }
)  # fmt: skip
PAYLOADS = [
    b'{"id":1,"name":"a"}',
    b'{"id":2} {"id":3}',
    b'{"id":"x"}',
    b"\xff\x00",
    b'{"id":5}',
    b'{"id":6,"name":7}',
]
GOOD = {0: (1, "a"), 4: (5, None)}


@pytest.fixture(params=[True, False], ids=["batched", "unbatched"])
def topic_with_bad_message(
    request: pytest.FixtureRequest, topic: str, official: official_client.Client, admin: Admin
) -> str:
    """Return a JSON topic with good and bad messages and a null value."""
    admin.create(topic)
    admin.register(topic, "JSON", DOCUMENT)
    producer = official.create_producer(topic, batching_enabled=request.param)
    for number, payload in enumerate([*PAYLOADS, None]):
        producer.send_async(payload, callback=lambda *_: None, partition_key=f"k{number}")
    producer.flush()
    producer.close()
    return topic


def test_failfast_names_a_bad_message(topic_with_bad_message: str, read_topic: ReadTopic) -> None:
    with pytest.raises(Exception, match=r"(?s)DecodeError.*mode=PERMISSIVE"):
        read_topic(topic_with_bad_message).collect()


def test_permissive_keeps_bytes_and_metadata(topic_with_bad_message: str, read_topic: ReadTopic) -> None:
    frame = read_topic(topic_with_bad_message, mode="permissive")
    assert frame.columns[:4] == ["id", "name", "_corrupt_record", "__key"]
    assert dict(frame.dtypes)["_corrupt_record"] == "binary"
    rows = [(row.id, row.name, row._corrupt_record, bytes(row["__key"]).decode()) for row in frame.collect()]
    bad = [(*GOOD.get(n, (None, None)), None if n in GOOD else p, f"k{n}") for n, p in enumerate(PAYLOADS)]
    assert rows == [*bad, (None, None, None, "k6")]


def test_permissive_in_the_users_own_schema(
    topic_with_bad_message: str, read_topic: ReadTopic, spark: SparkSession, pulsar: LocalPulsar
) -> None:
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "broken"}
    reader = spark.read.format("pulsar").options(topic=topic_with_bad_message, **options)
    reader = reader.option("service.url", pulsar.service_url)
    frame = reader.schema("broken binary, id bigint, __messageSize int").load()
    assert frame.columns == ["broken", "id", "__messageSize"]
    assert [row.id for row in frame.collect()] == [1, None, None, None, 5, 6, None]
    assert [row.broken for row in frame.collect()] == [None, *PAYLOADS[1:4], None, None, None]
    plain = read_topic(topic_with_bad_message, columns="id,__key", **options)
    assert [row.id for row in plain.collect()] == [1, None, None, None, 5, 6, None]


def test_dropmalformed_in_batch_and_stream(
    topic_with_bad_message: str,
    read_topic: ReadTopic,
    spark: SparkSession,
    pulsar: LocalPulsar,
    tmp_path: Path,
) -> None:
    frame = read_topic(topic_with_bad_message, mode="DROPMALFORMED")
    assert "_corrupt_record" not in frame.columns
    assert [(row.id, row.name) for row in frame.collect()] == [(1, "a"), (5, None), (None, None)]
    stream = spark.readStream.format("pulsar").option("service.url", pulsar.service_url)
    stream = stream.options(topic=topic_with_bad_message, startingOffsets="earliest", mode="DROPMALFORMED")
    query = (
        stream.load().select("id").writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    assert query.awaitTermination(60)
    rows = spark.read.schema("id int").parquet(str(tmp_path / "rows")).collect()
    assert sorted(row.id or 0 for row in rows) == [0, 1, 5]


def test_unselected_columns_are_not_decoded(topic_with_bad_message: str, read_topic: ReadTopic) -> None:
    sizes = [
        row["__messageSize"] for row in read_topic(topic_with_bad_message, columns="__messageSize").collect()
    ]
    assert sizes == [*map(len, PAYLOADS), 0]


BEFORE_1970 = 2**64 - 5
ODD: list[tuple[bytes, tuple[tuple[int, int | bytes], ...]]] = [
    (b"before 1970", ((12, BEFORE_1970),)),
    (b"never", ((12, 2**63 - 1),)),
    (b"no text", ((4, proto((1, b"k"), (2, b"\xff"))),)),
    (b"no base64", ((6, b"no base64!"), (17, 1))),
    (b"twice", ((4, proto((1, b"k"), (2, b"1"))), (4, proto((1, b"k"), (2, b"2"))))),
    (b"no version", ((16, b"abc"),)),
    (b"unknown codec", ((8, 9), (9, 13))),
    (b"a bomb", ((8, 1), (9, 2**31 - 1))),
    (b"good", ()),
]
"""Messages that a broker stores although no official client sends them, and what is odd about each."""


def test_odd_messages_are_values_or_bad_rows(
    topic: str, admin: Admin, read_topic: ReadTopic, pulsar: LocalPulsar
) -> None:
    admin.create(topic)
    with RawProducer(pulsar.service_url, topic) as producer:
        for payload, fields in ODD:
            producer.send(payload, *fields)
    columns = ["value", "_corrupt_record", "__key", "__eventTime", "__messageProperties", "__schemaVersion"]
    frame = read_topic(topic, mode="PERMISSIVE", columns=",".join(columns))
    rows = [
        tuple(row)
        for row in frame.selectExpr(*columns[:3], "unix_millis(__eventTime)", *columns[4:]).collect()
    ]
    assert rows == [
        (b"before 1970", None, None, -5, {}, None),
        (None, b"never", None, None, {}, None),
        (None, b"no text", None, None, None, None),
        (b"no base64", None, b"no base64!", None, {}, None),
        (b"twice", None, None, None, {"k": "2"}, None),
        (None, b"no version", None, None, {}, None),
        (None, b"unknown codec", None, None, {}, None),
        (None, b"a bomb", None, None, {}, None),
        (b"good", None, None, None, {}, None),
    ]
    dropped = read_topic(topic, mode="DROPMALFORMED").collect()
    assert [bytes(row.value) for row in dropped] == [
        b"before 1970",
        b"no base64",
        b"twice",
        b"no version",
        b"good",
    ]
    with pytest.raises(Exception, match=r"(?s)DecodeError.*event time: expected a time in Spark's range"):
        read_topic(topic).collect()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"mode": "PERMISIVE"}, "OptionError", ["mode", "one of FAILFAST, PERMISSIVE, DROPMALFORMED", "PERMISIVE"]),
        ({"columns": "id,nme"}, "SchemaError", ["did you mean name?"]),
        ({"columns": "id,*"}, "SchemaError", ["id more than once"]),
        ({"columns": " , "}, "OptionError", ["columns", "comma-separated"]),
        ({"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "name"}, "SchemaError", ["columnNameOfCorruptRecord"]),
        ({"mode": "PERMISSIVE", "columns": "_corrupt_record"}, "SchemaError", ["a value column beside"]),
        ({"allowDifferentTopicSchemas": "yes"}, "OptionError", ["true or false"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_bad_modes_are_refused(
    options: dict[str, str], kind: str, words: list[str], topic: str, admin: Admin, read_topic: ReadTopic,
    refused: Refused,
) -> None:  # fmt: skip
    admin.create(topic)
    admin.register(topic, "JSON", DOCUMENT)
    text = refused(lambda: read_topic(topic, **options).collect(), kind)
    for word in words:
        assert word in text, text


def test_all_metadata_columns_equal_the_official_client(
    topic: str, official: official_client.Client, admin: Admin, read_topic: ReadTopic
) -> None:
    admin.create_partitioned(topic, 2)
    admin.register(topic, "JSON", DOCUMENT)
    schema: Any = official_client.schema.BytesSchema()
    for batched in (True, False):
        producer = official.create_producer(
            topic, producer_name=f"p-{batched}", batching_enabled=batched, schema=schema
        )
        for number in range(20):
            producer.send_async(
                json.dumps({"id": number}).encode(), callback=lambda *_: None, partition_key=f"k{number}",
                ordering_key=f"o{number}" if number % 2 else None, sequence_id=1000 + 3 * number,
                properties={"n": str(number)}, event_timestamp=number * 1000 or None,
            )  # fmt: skip
        producer.flush()
        producer.close()
    names = (
        "__producerName,__sequenceId,id,__orderingKey,__partition,__messageSize,__key,__messageId,__schemaVersion,"
        "__topic,__publishTime,__eventTime,__messageProperties"
    )
    frame = read_topic(topic, columns=names)
    assert frame.columns == names.split(",")
    rows = {}
    for row in frame.toArrow().to_pylist(maps_as_pydicts="strict"):
        place = row["__messageId"]
        rows[place["partition"], place["ledger"], place["entry"], place["batchIndex"]] = row
    messages = list(messages_of(official, topic))
    assert len(rows) == len(messages) == 40
    for message in messages:
        at = message.message_id()
        row = rows[at.partition(), at.ledger_id(), at.entry_id(), at.batch_index()]
        number = json.loads(message.data())["id"]
        version = message.schema_version()
        raw = (
            None
            if not version
            else int.from_bytes(bytes(version, "latin-1"), "big")
            if isinstance(version, str)
            else version
        )
        assert row["id"] == number
        assert row["__key"].decode() == message.partition_key()
        assert (row["__orderingKey"] or b"").decode() == message.ordering_key()
        assert row["__producerName"] == message.producer_name()
        assert row["__sequenceId"] == 1000 + 3 * number
        assert row["__partition"] == at.partition()
        assert row["__topic"] == topic
        assert row["__messageSize"] == len(message.data())
        assert row["__messageProperties"] == message.properties()
        assert int(row["__publishTime"].timestamp() * 1000) in (
            message.publish_timestamp(),
            message.publish_timestamp() - 1,
        )
        assert (row["__eventTime"] is None) == (message.event_timestamp() == 0)
        assert row["__schemaVersion"] == raw or (row["__schemaVersion"] is None and not version)
