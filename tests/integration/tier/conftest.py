"""A server with small ledgers, a catalog of tables in a folder, and reads without Spark: plans and splits alone."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from fixtures.cluster import object_store
from integration.official import Admin
from integration.tier.sql_table import SqlTable
from pyspark.sql import SparkSession

from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.definition import TableSettings
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.topic_rounds import TopicOutcome, tier_topics
from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.batch_plan import BatchPlan, plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.split_reader import read_split
from pyspark_pulsar.schema.metadata_columns import FIELDS
from pyspark_pulsar.session.configure import catalog_settings
from pyspark_pulsar.tools.standalone import LocalPulsar
from pyspark_pulsar.tools.standalone.settings import choose_port

ENTRIES = 20
"""The number of entries of a ledger."""
ICEBERG = "iceberg"
DELTA = "delta"
both_formats = pytest.mark.parametrize("catalog", [ICEBERG, DELTA], indirect=True)
on_delta = pytest.mark.parametrize("catalog", [DELTA], indirect=True)
SMALL_LEDGERS = {
    "managedLedgerMaxEntriesPerLedger": str(ENTRIES),
    "managedLedgerMinLedgerRolloverTimeMinutes": "0",
    "transactionCoordinatorEnabled": "true",
}
ALL_COLUMNS = ",".join(["*", *FIELDS])


@pytest.fixture(scope="session")
def small_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    with LocalPulsar(data=tmp_path_factory.mktemp("small-ledgers"), config=SMALL_LEDGERS) as server:
        yield server


@dataclass
class Tier:
    """A topic in a namespace of its own, and its table."""

    server: LocalPulsar
    official: official_client.Client
    admin: Admin
    topic: str
    catalog: dict[str, str]

    def options(self, **further: str) -> ReadOptions:
        return parse_options(ReadOptions, {**self.texts(), "columns": ALL_COLUMNS, **further})

    def texts(self) -> dict[str, str]:
        """Return the options as texts, the form that Spark accepts."""
        return {
            "service.url": self.server.service_url,
            "admin.url": self.server.admin_url,
            "topic": self.topic,
            "tierCatalog": json.dumps(self.catalog),
        }

    def run(self, settings: TableSettings | None = None, **further: str) -> TopicOutcome:
        """Tier all complete ledgers."""
        outcome = self.outcome(settings, **further)
        if outcome.fault is not None:
            raise outcome.fault
        return outcome

    def outcome(self, settings: TableSettings | None = None, **further: str) -> TopicOutcome:
        tier_round = TierRound(self.options(**further), settings or TableSettings(), ProcessWriters(1))
        (outcome,) = tier_topics(tier_round, [TopicName.parse(self.topic)])
        return outcome

    @property
    def table(self) -> ColumnarTable:
        table = TopicTables(self.options()).load(TopicName.parse(self.topic))
        assert table is not None
        return table

    def plan(self, **further: str) -> BatchPlan:
        return plan_batch(self.options(**further))

    def rows(self, **further: str) -> pa.Table:
        """Read a batch, in the order of topic partitions and positions."""
        options = self.options(**further)
        schema = resolve_source_schema(options)
        batches = [
            batch for split in plan_batch(options).splits for batch in read_split(options, schema, split)
        ]
        return pa.Table.from_batches(batches, schema.output_schema)

    def places(self, **further: str) -> list[str]:
        """Return the locations from which a batch reads its ranges."""
        return [part.location.name for split in self.plan(**further).splits for part in split.ranges]

    def send(self, values: range, **producing: Any) -> None:
        producer = self.official.create_producer(self.topic, block_if_queue_full=True, **producing)
        for value in values:
            producer.send_async(
                str(value).encode(), lambda *_: None, partition_key=f"k{value % 7}",
                properties={"n": str(value)}, event_timestamp=1_700_000_000_000 + value,
            )  # fmt: skip
        producer.flush()
        producer.close()

    def trim(self) -> None:
        """Let retention remove all ledgers but the last."""
        self.admin.trim(self.topic, to_ledgers=1)
        self.admin.keep_for(self.topic, minutes=-1)

    def roll(self) -> None:
        """Close the open ledgers."""
        self.admin.unload(self.topic)


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an S3 store with one bucket, `object_store.BUCKET`, and yield its URL."""
    port = choose_port(None, None)
    server = object_store.object_store(port, tmp_path_factory.mktemp("object-store") / "log")
    server.start()
    url = f"http://{server.address}"
    object_store.create_bucket(url)
    yield url
    server.stop()


def s3_settings(endpoint: str) -> dict[str, str]:
    return {
        "s3.endpoint": endpoint, "s3.access-key-id": object_store.ACCESS_KEY, "s3.region": "us-east-1",
        "s3.secret-access-key": object_store.SECRET_KEY,
    }  # fmt: skip


def tables_in(folder: Path, table_format: str = ICEBERG) -> dict[str, str]:
    """Return the properties of a catalog in a folder."""
    if table_format == DELTA:
        return {"type": DELTA, "path": f"file://{folder}/tables"}
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/tables"}


@contextmanager
def new_tier(server: LocalPulsar, folder: Path, catalog: dict[str, str] | None = None) -> Iterator[Tier]:
    """Yield a topic that does not exist yet, in a namespace named after the folder. The folder also holds its
    tables.
    """
    admin = Admin(server.admin_url)
    namespace = f"public/{folder.name}"
    admin.make_namespace(namespace)
    admin.keep_for(f"persistent://{namespace}/t", minutes=-1)
    client = official_client.Client(server.service_url, logger=None)
    yield Tier(server, client, admin, f"persistent://{namespace}/t", catalog or tables_in(folder))
    client.close()


@contextmanager
def in_sql(spark: SparkSession, tier: Tier, **further: str) -> Iterator[SqlTable]:
    """Yield the topic in a catalog of its own, with a name that is used once."""
    catalog = f"tier_{uuid.uuid4().hex[:8]}"
    texts = {key: text for key, text in tier.texts().items() if key != "topic"}
    settings = catalog_settings(catalog=catalog, options={**texts, **further, "python": sys.executable})
    settings["spark.sql.python.filterPushdown.enabled"] = "true"
    settings["spark.sql.planChangeValidation"] = "true"
    for key, value in settings.items():
        spark.conf.set(key, value)
    namespace, topic = tier.topic.removeprefix("persistent://").rsplit("/", 1)
    yield SqlTable(spark, tier, f"{catalog}.`{namespace}`", topic)
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture
def catalog(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return a catalog in the format that `both_formats` chose for the test, or otherwise of Iceberg."""
    return tables_in(tmp_path, getattr(request, "param", ICEBERG))


@pytest.fixture
def tier(small_ledgers: LocalPulsar, tmp_path: Path, catalog: dict[str, str]) -> Iterator[Tier]:
    with new_tier(small_ledgers, tmp_path, catalog) as made:
        yield made


@pytest.fixture
def sql(tier: Tier, spark: SparkSession) -> Iterator[SqlTable]:
    with in_sql(spark, tier) as table:
        yield table


@pytest.fixture
def same(tier: Tier) -> Callable[..., pa.Table]:
    """Return a check that a read with the table equals a read without the table, cell by cell and in order."""

    def check(**further: str) -> pa.Table:
        plain = tier.rows(**further, readFrom="broker")
        union = tier.rows(**further)
        assert union.equals(plain), (union.num_rows, plain.num_rows)
        return union

    return check
