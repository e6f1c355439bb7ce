"""A tiered topic as a table of the catalog, in a real Spark session, with helpers that write rows of other days."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pyspark_pulsar.options import WriteOptions, parse_options
from pyspark_pulsar.write import sender
from pyspark_pulsar.write.guarantee import delivery_of_job
from pyspark_pulsar.write.target import settle_target

if TYPE_CHECKING:
    from integration.tier.conftest import Tier

Query = Callable[[DataFrame], DataFrame]

METADATA = (
    "__key", "__topic", "__messageId", "__publishTime", "__eventTime", "__messageProperties", "__partition",
    "__orderingKey", "__producerName", "__sequenceId", "__schemaVersion", "__messageSize", "__replicatedFrom",
    "__index", "__brokerPublishTime",
)  # fmt: skip


@dataclass
class SqlTable:
    """A `Tier`'s topic in SQL."""

    spark: SparkSession
    tier: Tier
    namespace: str
    """The name of the namespace, with the name of the catalog as a prefix."""
    topic: str

    @property
    def name(self) -> str:
        return f"{self.namespace}.`{self.topic}`"

    @property
    def columns(self) -> str:
        """Return the name of the system table with the tier's columns."""
        return f"{self.namespace}.`{self.topic}$columns`"

    def frame(self, **options: str) -> DataFrame:
        return self.spark.read.options(**options).table(self.name)

    @contextmanager
    def conf(self, key: str, value: str) -> Iterator[None]:
        before = self.spark.conf.get(key)
        self.spark.conf.set(key, value)
        try:
            yield
        finally:
            self.spark.conf.set(key, before)

    def same(self, query: Query, **options: str) -> list[str]:
        """Check that a query returns the same cells as a read from the broker alone; return its rows, in no
        order.
        """
        plain = cells(query(self.frame(**options, readFrom="broker")))
        union = cells(query(self.frame(**options)))
        assert union == plain, (
            f"{len(union)} rows, {len(plain)} expected; first of the others: "
            f"{next(iter(set(union) - set(plain)), None)}, {next(iter(set(plain) - set(union)), None)}"
        )
        return union


def cells(frame: DataFrame) -> list[str]:
    """Return texts of the cells, equal for equal rows in any order; NaN equals itself."""
    return sorted(map(repr, frame.collect()))


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def pushed(frame: DataFrame) -> str:
    """Return the filters that Spark pushed to the one scan of files."""
    (scan,) = scans(frame)
    return str(scan.metadata().apply("PushedFilters"))


def scans(frame: DataFrame) -> list[Any]:
    """Return Spark's own scans of files in the executed plan."""
    executed = frame._jdf.queryExecution().executedPlan()
    return _scans(frame.sparkSession, executed)


def _scans(spark: SparkSession, node: Any) -> list[Any]:
    if node.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return _scans(spark, node.initialPlan())
    if node.getClass().getSimpleName() == "FileSourceScanExec":
        return [node]
    children = node.children()
    return [scan for index in range(children.size()) for scan in _scans(spark, children.apply(index))]


def files_read(frame: DataFrame) -> list[int]:
    """Return the number of files that each of Spark's own scans opens, after pruning by statistics."""
    return [int(scan.selectedPartitions().totalNumberOfFiles()) for scan in scans(frame)]


def write_on(
    monkeypatch: pytest.MonkeyPatch, tier: Tier, day: dt.datetime, rows: pa.Table, **options: str
) -> None:
    """Write rows with the given time as their publish time."""
    clock = SimpleNamespace(time_ns=lambda: int(day.timestamp() * 1e9), monotonic=time.monotonic)
    with monkeypatch.context() as patched:
        patched.setattr(sender, "time", clock)
        write(tier, rows, **options)


def write(tier: Tier, rows: pa.Table, **options: str) -> None:
    texts = {
        "service.url": tier.server.service_url,
        "admin.url": tier.server.admin_url,
        "topic": tier.topic,
        "pulsar.producer.batchingMaxMessages": "5",
    }
    given = parse_options(WriteOptions, {**texts, **options})
    delivery = delivery_of_job(given)
    delivery.prepare()
    delivery.commit(0, [delivery.write(settle_target(given, rows.schema), iter(rows.to_batches()))])


def numbered(numbers: Sequence[int]) -> pa.Table:
    """Return a row for each number, with a column of every Avro type that Spark also reads from Parquet without
    conversion.
    """
    moment = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    line = pa.struct([("a", pa.int64()), ("b", pa.string()), ("deep", pa.struct([("c", pa.float32())]))])
    columns: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
        "id": (pa.int64(), lambda n: n),
        "number": (pa.int32(), lambda n: n % 100),
        "flag": (pa.bool_(), lambda n: n % 2 == 0),
        "ratio": (pa.float64(), lambda n: float("nan") if n % 50 == 7 else -0.0 if n % 50 == 8 else n / 7),
        "name": (pa.string(), lambda n: f"name {n:05} ä"),
        "data": (pa.binary(), lambda n: bytes([n % 256, 255])),
        "price": (pa.decimal128(20, 4), lambda n: Decimal(n) / 8),
        "day": (pa.date32(), lambda n: dt.date(1500, 1, 1) + dt.timedelta(days=n)),
        "happened": (pa.timestamp("us", "UTC"), lambda n: moment + dt.timedelta(microseconds=n)),
        "local": (pa.timestamp("us"), lambda n: dt.datetime(1500, 1, 1) + dt.timedelta(days=n)),  # noqa: DTZ001
        "line": (line, lambda n: None if n % 11 == 3 else {"a": n, "b": f"b{n}", "deep": {"c": n / 3}}),
        "ids": (pa.list_(pa.int64()), lambda n: [n, n + 1] if n % 5 else []),
        "parts": (pa.list_(pa.struct([("k", pa.int64())])), lambda n: [{"k": n}]),
        "counts": (pa.map_(pa.string(), pa.int64()), lambda n: [("m", n)]),
        "maybe": (pa.string(), lambda n: None if n % 3 == 0 else f"maybe {n}"),
        "__key": (pa.binary(), lambda n: None if n % 10 == 4 else b"k%d" % (n % 7)),
        "__eventTime": (
            pa.timestamp("us", "UTC"),
            lambda n: None if n % 9 == 5 else moment + dt.timedelta(seconds=n),
        ),
        "__messageProperties": (pa.map_(pa.string(), pa.string()), lambda n: [("n", str(n))]),
        "__orderingKey": (pa.binary(), lambda n: b"o%d" % n if n % 2 else None),
    }
    return pa.table({
        name: pa.array([value(n) for n in numbers], kind) for name, (kind, value) in columns.items()
    })  # fmt: skip
