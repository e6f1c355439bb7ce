"""A server with small ledgers, a catalog of tables in a folder, and reads without Spark: plans and splits alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulsar as official_client
import pyarrow as pa
import pytest
from integration.official import Admin

from pyspark_pulsar.columnar.table import ColumnarTable
from pyspark_pulsar.columnar.topic_tables import TopicTables
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.batch.plan import BatchPlan, plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.task.reader import read_split
from pyspark_pulsar.schema.metadata_columns import FIELDS
from pyspark_pulsar.standalone import LocalPulsar
from pyspark_pulsar.tiering.definition import TableSettings
from pyspark_pulsar.tiering.round import TierRound
from pyspark_pulsar.tiering.run import TopicOutcome, tier_topics
from pyspark_pulsar.tiering.writers import ProcessWriters
from pyspark_pulsar.topic import TopicName

ENTRIES = 20
"""Of a ledger."""
ALL_COLUMNS = ",".join(["*", *FIELDS])


@pytest.fixture(scope="session")
def small_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPulsar]:
    config = {
        "managedLedgerMaxEntriesPerLedger": str(ENTRIES),
        "managedLedgerMinLedgerRolloverTimeMinutes": "0",
        "transactionCoordinatorEnabled": "true",
    }
    with LocalPulsar(data=tmp_path_factory.mktemp("small-ledgers"), config=config) as server:
        yield server


@dataclass
class Tier:
    """A topic of a namespace of its own, and its table."""

    server: LocalPulsar
    official: official_client.Client
    admin: Admin
    topic: str
    catalog: dict[str, str]

    def options(self, **further: str) -> ReadOptions:
        return parse_options(ReadOptions, {**self.texts(), "columns": ALL_COLUMNS, **further})

    def texts(self) -> dict[str, str]:
        """As Spark takes them."""
        return {
            "service.url": self.server.service_url,
            "admin.url": self.server.admin_url,
            "topic": self.topic,
            "tierCatalog": json.dumps(self.catalog),
        }

    def run(self, settings: TableSettings | None = None, **further: str) -> TopicOutcome:
        """Tier what is complete."""
        tier_round = TierRound(self.options(**further), settings or TableSettings(), ProcessWriters(1))
        (outcome,) = tier_topics(tier_round, [TopicName.parse(self.topic)])
        if outcome.fault is not None:
            raise outcome.fault
        return outcome

    @property
    def table(self) -> ColumnarTable:
        table = TopicTables(self.options()).load(TopicName.parse(self.topic))
        assert table is not None
        return table

    def plan(self, **further: str) -> BatchPlan:
        return plan_batch(self.options(**further))

    def rows(self, **further: str) -> pa.Table:
        """Of a batch, in the order of topic partitions and positions."""
        options = self.options(**further)
        schema = resolve_source_schema(options)
        batches = [
            batch for split in plan_batch(options).splits for batch in read_split(options, schema, split)
        ]
        return pa.Table.from_batches(batches, schema.output_schema)

    def places(self, **further: str) -> list[str]:
        """Where the ranges of a batch are read from."""
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
        """End the ledgers that are written to."""
        self.admin.unload(self.topic)


@pytest.fixture
def tier(small_ledgers: LocalPulsar, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Tier]:
    admin = Admin(small_ledgers.admin_url)
    name = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")
    namespace = f"public/{name}-{tmp_path.name}"
    admin.make_namespace(namespace)
    admin.keep_for(f"persistent://{namespace}/t", minutes=-1)
    client = official_client.Client(small_ledgers.service_url, logger=None)
    catalog = {
        "type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/tables",
    }  # fmt: skip
    yield Tier(small_ledgers, client, admin, f"persistent://{namespace}/t", catalog)
    client.close()


@pytest.fixture
def same(tier: Tier) -> Callable[..., pa.Table]:
    """That reading with the table is reading without it, cell by cell and in order."""

    def check(**further: str) -> pa.Table:
        plain = tier.rows(**further, readFrom="broker")
        union = tier.rows(**further)
        assert union.equals(plain), (union.num_rows, plain.num_rows)
        return union

    return check
