"""The topics and tables of bench/tier_scan.py."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from stream_server import StreamServer

from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.columnar.writing.writer import WrittenFile
from pyspark_pulsar.history.tiering.definition import TableSettings
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.topic_rounds import tier_topics
from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions, WriteOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.write.target import settle_target
from pyspark_pulsar.write.task import write_rows

PARTITIONS = 4
FIRST_EVENT_US = 1_790_000_000_000_000
EVENT_STEP_US = 1_000
_ENTRY_ROWS = 1000
_BLOCK_ROWS = 25_000
_ROLLS = 10
_FILES_A_COMMIT = 100


@dataclass(frozen=True)
class TieredTopic:
    """A topic whose rows are all in its table."""

    name: str
    job: dict[str, Any]
    """The fields of a reader's job that name the topic and the table."""
    files: int
    table_bytes: int
    ledger_bytes: int
    tiering_cpu_seconds: float
    """CPU seconds of the tiering process for planning, reading, writing and committing."""

    @property
    def options(self) -> ReadOptions:
        return parse_options(ReadOptions, dict(self.job["options"]) | {"topic": self.name})

    @property
    def table(self) -> ColumnarTable:
        table = TopicTables(self.options).load(TopicName.parse(self.name))
        assert table is not None
        return table


def make_topic(server: StreamServer, folder: Path, local: str, rows: int) -> TieredTopic:
    """Make a topic of 10 value columns, key and event time. The event time and `id` grow, and `score` is random."""
    name = f"persistent://public/default/{local}"
    server.create(name, PARTITIONS)
    server.keep(name)
    written = WriteOptions(
        service_url=server.service_url,
        admin_url=server.admin_url,
        topic=name,
        batching_max_messages=_ENTRY_ROWS,
        batching_max_bytes=4 << 20,
        compression_type="LZ4",
    )
    share = -(-rows // _ROLLS)
    for start in range(0, rows, share):
        blocks = list(_blocks(start, min(rows, start + share)))
        write_rows(written, settle_target(written, blocks[0].schema), iter(blocks))
        server.close_ledger(name)
    folder.mkdir(exist_ok=True)
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/tables"}
    options = {
        "service.url": server.service_url,
        "admin.url": server.admin_url,
        "tierCatalog": json.dumps(catalog),
    }
    topic = TieredTopic(name, {"options": options, "topic": local}, 0, 0, 0, 0.0)
    partitions = plan_batch(replace(topic.options, tier_catalog=())).partitions
    known = [partition.ledgers for partition in partitions if partition.ledgers is not None]
    ledger_bytes = sum(ledger.size for ledgers in known for ledger in ledgers.ledgers)
    before = time.process_time()
    (outcome,) = tier_topics(
        TierRound(topic.options, TableSettings(), ProcessWriters(1)), [TopicName.parse(name)]
    )
    cpu_seconds = time.process_time() - before
    assert outcome.rows == rows, outcome
    files = topic.table.files()
    # Tables of DuckDB and similar engines are stored in such a folder, too.
    place = files[0].url.partition("/data/")[0] + "/data"
    return replace(
        topic,
        job=topic.job | {"folder": place},
        files=len(files),
        table_bytes=sum(file.size for file in files),
        ledger_bytes=ledger_bytes,
        tiering_cpu_seconds=cpu_seconds,
    )


def add_files(topic: TieredTopic, count: int) -> None:
    """Add missing files to the table until the table has `count` files, with the statistics of a real file."""
    table, partition = topic.table, TopicPartition.parse(f"{topic.name}-partition-0")
    present = table.files()
    real, path = next(
        (file, path) for file in present if (path := Path(file.url.removeprefix("file://"))).exists()
    )
    footer = pq.read_metadata(path)
    missing = [
        WrittenFile(f"{real.url}-{number}.parquet", partition, real.key, real.size, footer)
        for number in range(len(present), count)
    ]
    for start in range(0, len(missing), _FILES_A_COMMIT):
        table.commit(missing[start : start + _FILES_A_COMMIT], table.positions)


def _blocks(start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Yield blocks of rows of one topic partition each."""
    for first in range(start, end, _BLOCK_ROWS):
        yield _block(range(first, min(end, first + _BLOCK_ROWS)), first // _BLOCK_ROWS % PARTITIONS)


def _block(ids: range, partition: int) -> pa.RecordBatch:
    count, random = len(ids), Random(ids[0])
    events = [FIRST_EVENT_US + number * EVENT_STEP_US for number in ids]
    moments = pa.array(events).cast(pa.timestamp("us", "UTC"))
    note = random.randbytes(28 * count).hex()

    def below(most: int) -> pa.Array:
        share = pc.random(count, initializer=random.getrandbits(62))
        return pc.floor(pc.multiply(share, float(most))).cast(pa.int64())

    columns = {
        "id": pa.array(ids),
        "user": _texts("user-", below(100_000)),
        "item": _texts("item-", below(1000)),
        "city": _texts("city-", below(50)),
        "price": pc.divide(below(10_000).cast(pa.float64()), 64.0),
        "qty": below(10).cast(pa.int32()),
        "happened": moments,
        "flag": pc.equal(below(2), 1),
        "note": pa.array([note[start : start + 56] for start in range(0, len(note), 56)]),
        "score": pc.divide(below(1 << 20).cast(pa.float64()), float(1 << 20)),
        "__key": _texts("user-", below(100_000)).cast(pa.binary()),
        "__eventTime": moments,
        "__partition": pa.array([partition] * count, pa.int32()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _texts(prefix: str, numbers: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(prefix, numbers.cast(pa.string()), "")
