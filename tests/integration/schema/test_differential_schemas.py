"""Every schema type on a real broker: Spark and the official clients read the same from each other's
messages.

tests/java has the cases, which the official Java client writes and reads with its typed schemas. A new type is a line
there. All cases share two runs of the Java program, because the start of the program is slow.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.java_cases import NAMES, known_cells
from fixtures.java_programs import java_programs
from fixtures.neutral import neutral, neutral_rows, text_of
from integration.official import Admin, messages_of, open_client
from pulsar.schema import AvroSchema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from pyspark_pulsar.tools.standalone import LocalPulsar

RANDOM_VALUES = 200
CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
# The Python client has the document's own types for these; it knows no general unions in neutral form.
AVRO = [name for name in NAMES if name.startswith("AVRO") and name != "AVRO unions"]

Rows = list[dict[str, Any] | None]
Jobs = Callable[..., list[Rows]]
ReadFrame = Callable[[str], DataFrame]


@dataclass(frozen=True)
class Exchange:
    """A case's topics: the topic that Java wrote and read back, and the topic to which Spark copies it."""

    name: str
    by_java: str
    by_spark: str
    rows: Rows


@pytest.fixture(scope="module")
def java(pulsar: LocalPulsar) -> Jobs:
    def run(*jobs: dict[str, Any]) -> list[Rows]:
        programs = java_programs(pulsar.home)
        return list(json.loads(programs.run("TypedClient", pulsar.service_url, text=json.dumps(jobs))))

    return run


@pytest.fixture(scope="module")
def exchanges(java: Jobs, seed: int) -> dict[str, Exchange]:
    jobs: list[dict[str, Any]] = []
    topics = {name: f"persistent://public/default/typed-{uuid.uuid4().hex}" for name in NAMES}
    for number, (name, topic) in enumerate(topics.items()):
        about = {"case": name, "topic": f"{topic}-java"}
        sent = {"seed": seed, "count": RANDOM_VALUES, "compression": CODECS[number % len(CODECS)]}
        jobs.append({"do": "produce", **about, **sent})
        jobs.append({"do": "register", "case": name, "topic": f"{topic}-spark"})
        jobs.append({"do": "read", **about})
    read = java(*jobs)[2::3]
    return {
        name: Exchange(name, f"{topic}-java", f"{topic}-spark", rows)
        for (name, topic), rows in zip(topics.items(), read, strict=True)
    }


@pytest.fixture(scope="module")
def frame_of(spark: SparkSession, pulsar: LocalPulsar) -> ReadFrame:
    """Return a function that reads the value columns of a topic."""

    def read(topic: str) -> DataFrame:
        reader = spark.read.format("pulsar").option("service.url", pulsar.service_url).option("topic", topic)
        frame = reader.load()
        return frame.select([name for name in frame.columns if not name.startswith("__")])

    return read


def without_nulls(frame: DataFrame) -> DataFrame:
    """Drop the null value, because a record of nulls would not fit a schema without nulls."""
    return frame.where(reduce(lambda a, b: a | b, [col(name).isNotNull() for name in frame.columns]))


def is_null(row: dict[str, Any] | None) -> bool:
    """Return whether Java read a null value, which a separated key-value topic shows as a pair of two nulls."""
    return row is None or all(cell is None for cell in row.values())


def assert_same(name: str, found: list[dict[str, Any]], expected: Rows) -> None:
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        # A null value is a row whose value columns are all null.
        cells = dict.fromkeys(row) if wanted is None else wanted
        assert text_of(known_cells(name, row)) == text_of(known_cells(name, cells))


@pytest.mark.parametrize("name", NAMES)
def test_spark_reads_what_java_wrote(name: str, exchanges: dict[str, Exchange], frame_of: ReadFrame) -> None:
    exchange = exchanges[name]
    assert len(exchange.rows) > RANDOM_VALUES
    assert_same(name, neutral_rows(frame_of(exchange.by_java).toArrow()), exchange.rows)


@pytest.fixture(scope="module")
def read_by_java(
    exchanges: dict[str, Exchange], frame_of: ReadFrame, pulsar: LocalPulsar, java: Jobs
) -> dict[str, Rows]:
    """Return Java's rows of the topics to which Spark copied its rows."""
    for name in NAMES:
        frame = without_nulls(frame_of(exchanges[name].by_java)).coalesce(1)
        writer = frame.write.format("pulsar").mode("append").option("service.url", pulsar.service_url)
        writer.option("topic", exchanges[name].by_spark).save()
    jobs = [{"do": "read", "case": name, "topic": exchanges[name].by_spark} for name in NAMES]
    return dict(zip(NAMES, java(*jobs), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_java_reads_what_spark_wrote(
    name: str, exchanges: dict[str, Exchange], read_by_java: dict[str, Rows]
) -> None:
    found = [row for row in read_by_java[name] if row is not None]
    assert len(found) == len(read_by_java[name])
    assert_same(name, found, [row for row in exchanges[name].rows if not is_null(row)])


def plain(value: Any) -> Any:
    """Convert values of fastavro, with uuids as text."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, uuid.UUID) else value


@pytest.fixture(scope="module")
def python_client(pulsar: LocalPulsar) -> Iterator[official_client.Client]:
    client = open_client(pulsar.service_url)
    yield client
    client.close()


@pytest.mark.parametrize("name", AVRO)
def test_the_python_client_reads_what_spark_wrote_and_spark_what_it_writes(
    name: str,
    exchanges: dict[str, Exchange],
    read_by_java: dict[str, Rows],
    frame_of: ReadFrame,
    python_client: official_client.Client,
    admin: Admin,
) -> None:
    exchange = exchanges[name]
    registered = admin.schema(exchange.by_spark)
    assert registered is not None
    document = json.loads(registered["data"])
    schema = AvroSchema(None, schema_definition=document)
    values = [plain(message.value()) for message in messages_of(python_client, exchange.by_spark, schema)]
    kind = pa.struct(list(frame_of(exchange.by_spark).limit(0).toArrow().schema))
    expected = [row for row in exchange.rows if not is_null(row)]
    assert_same(name, [neutral(value, kind) for value in values], expected)
    topic = f"{exchange.by_spark}-python"
    producer = python_client.create_producer(topic, schema=schema)
    for value in values:
        producer.send_async(value, None)
    producer.flush()
    producer.close()
    assert_same(name, neutral_rows(frame_of(topic).toArrow()), expected)
