"""Locations of topics' tables. An empty location, another table, an earlier state or another topic is never read as an
empty history.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from fixtures.http_gate import HttpGate, Request
from integration.tier.conftest import DELTA, ENTRIES, Tier, both_formats, in_sql, on_delta, tables_in
from integration.tier.sql_table import SqlTable, cells, numbered, write
from integration.tier.test_streams import Query
from integration.tier.test_tables import catalog_of, fill
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import ColumnsUnavailable, PulsarError, TierMismatch
from pyspark_pulsar.history.columnar.delta.table import DeltaColumnarTable
from pyspark_pulsar.history.columnar.iceberg.table import IcebergTable
from pyspark_pulsar.history.columnar.tier_note import TierNote
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.status import tier_status
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.read.planning.tables import topic_notes
from pyspark_pulsar.read.planning.tables.topic_notes import fetch_note
from pyspark_pulsar.tools.cli import cli

Same = Callable[..., pa.Table]


def note_of(tier: Tier) -> TierNote | None:
    with AdminClient(tier.options()) as admin:
        return fetch_note(admin, TopicName.parse(tier.topic))


def command(tier: Tier, name: str, *arguments: str) -> str:
    where = [f"--service-url={tier.server.service_url}", f"--admin-url={tier.server.admin_url}"]
    done = CliRunner().invoke(cli, ["tier", name, tier.topic, *where, *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def stream(tier: Tier, **options: str) -> pa.Table:
    """Return all rows of a streaming query from earliest on."""
    with closing(Query(tier, **options)) as query:
        return pa.concat_tables(list(query.rest()))


def every_way(tier: Tier, **options: str) -> list[Callable[[], Any]]:
    """Return a call for each way to use the topic's table without Spark."""
    return [
        lambda: tier.rows(**options),
        lambda: tier.rows(readFrom="columns", **options),
        lambda: stream(tier, **options),
        lambda: tier.run(**options),
    ]


def assert_fails(ways: list[Callable[[], Any]], words: str, kind: type[PulsarError] = TierMismatch) -> None:
    for number, way in enumerate(ways):
        with pytest.raises(kind, match=words):
            print("way", number, way())  # noqa: T201


@both_formats
def test_an_empty_location_is_an_error(tier: Tier, tmp_path: Path) -> None:
    """A folder that is not mounted, and a misspelled name, are errors before the first row."""
    tier.send(range(4 * ENTRIES), batching_enabled=False)
    tier.roll()
    tier.run()
    tier.send(range(ENTRIES // 2), batching_enabled=False)
    tier.trim()
    everything = tier.rows()
    assert everything.num_rows > 4 * ENTRIES
    table, note = tier.table, note_of(tier)
    assert note is not None
    assert (note.id, note.catalog["type"]) == (table.id, tier.catalog["type"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    empty = tables_in(elsewhere, table.format)
    for options in ({"tierCatalog": json.dumps(empty)}, {"tierTable": "{tenant}_{namespace}.{topic}s"}):
        assert_fails(every_way(tier, **options), f"expected table {note.table} .*id {table.id}.*got no table")
        (status,) = tier_status(tier.options(**options), [TopicName.parse(tier.topic)])
        assert f"id {table.id}" in str(status.fault)
        # A start at a position whose ledger is gone assert_fails too. Where ledgers show that nothing is missing, no
        # table is needed.
        first, last = (everything["__messageId"][number].as_py() for number in (5, -1))
        start = json.dumps({tier.topic: f"{first['ledger']}:{first['entry']}"})
        assert_fails([lambda: tier.rows(startingOffsets=start, **options)], "got no table")  # noqa: B023
        start = json.dumps({tier.topic: f"{last['ledger']}:{last['entry']}"})
        assert tier.rows(startingOffsets=start, **options).num_rows == 1
    assert tier.rows().equals(everything)
    # Starting from scratch needs an explicit command.
    other = replace(tier, catalog=empty)
    assert "forgotten" in command(tier, "forget", "--yes")
    assert "no table was recorded" in command(tier, "forget", "--yes")
    other.roll()
    left = other.run().rows
    assert left == ENTRIES // 2
    assert other.rows().num_rows == left
    # The previous table now has another id. Its rows count as long as ledgers show that the table is the
    # topic's.
    assert_fails(
        [lambda: tier.rows(readFrom="columns"), tier.run],
        f"expected table .*id {other.table.id}.*whose id is",
    )
    catalog = f"--catalog={json.dumps(empty)}"
    assert "dropped" in command(tier, "drop", "--yes", catalog)
    assert note_of(tier) is None


@both_formats
def test_a_dropped_table_is_an_error(tier: Tier) -> None:
    fill(tier, 3)
    tier.trim()
    catalog = f"--catalog={json.dumps(tier.catalog)}"
    assert "dropped" in command(tier, "drop", "--yes", "--keep-files", catalog)
    assert note_of(tier) is None
    tier.send(range(2 * ENTRIES), batching_enabled=False)
    tier.roll()
    rows = tier.run().rows
    identity = tier.table.id
    # Another engine dropped the table: the command does not know which table that was.
    if tier.catalog["type"] == DELTA:
        Path(tier.table.name.removeprefix("file://"), "_delta_log").rename(f"{tier.table.name[7:]}/gone")
    else:
        catalog_of(tier).drop_table(tier.table.name)
    assert_fails(every_way(tier), f"id {identity}.*got no table")
    where = [f"--service-url={tier.server.service_url}", f"--admin-url={tier.server.admin_url}", catalog]
    told = CliRunner().invoke(cli, ["tier", "drop", tier.topic, "--yes", *where])
    assert told.exit_code == 1
    assert "which does not exist" in told.output
    assert note_of(tier) is not None
    command(tier, "forget", "--yes")
    assert tier.run().rows == rows
    assert tier.table.id != identity


@both_formats
def test_a_rolled_back_table_misses_no_row(tier: Tier, same: Same) -> None:
    """A rollback of a table rolls its positions back too. Missing rows are read from ledgers, or are an
    error.
    """
    fill(tier, 2)
    back = state_of(tier)
    for number in range(2, 5):
        tier.send(range(number * ENTRIES, (number + 1) * ENTRIES), batching_enabled=False)
        tier.roll()
        tier.run()
    roll_back(tier, back)
    assert same().num_rows == 5 * ENTRIES
    assert {"columns", "bookie"} & set(tier.places()) == {"columns", "bookie"}
    assert_fails([lambda: tier.rows(readFrom="columns")], "as before, got messages up to .* earlier state")
    assert tier.run().rows == 3 * ENTRIES
    assert tier.rows(readFrom="columns").equals(same())
    everything = same()
    last = state_of(tier)
    roll_back(tier, back)
    tier.send(range(1), batching_enabled=False)
    tier.trim()
    assert_fails(every_way(tier), "as before, got messages up to .* earlier state")
    if tier.catalog["type"] == DELTA:
        DeltaTable(tier.table.name).restore(last)
    else:
        table = catalog_of(tier).load_table(tier.table.name)
        table.manage_snapshots().set_current_snapshot(last).commit()
    assert tier.rows().slice(0, 5 * ENTRIES).equals(everything)
    tier.roll()
    assert tier.run().rows == 1


@on_delta
def test_a_table_rolled_back_before_its_first_commit(tier: Tier) -> None:
    fill(tier, 2)
    tier.trim()
    DeltaTable(tier.table.name).restore(0)
    assert_fails(every_way(tier), "as before, got no messages")


@both_formats
def test_a_table_made_from_anothers_definition_is_refused(tier: Tier) -> None:
    """A definition from SHOW CREATE TABLE has the property with the positions, but the new table has no rows."""
    fill(tier, 2)
    tier.send(range(1), batching_enabled=False)
    tier.trim()
    name = tier.table.name
    if tier.catalog["type"] == DELTA:
        delta = DeltaTable(name)
        metadata, columns = delta.metadata(), delta.schema()
        shutil.rmtree(f"{name.removeprefix('file://')}/_delta_log")
        DeltaTable.create(
            name, columns, partition_by=metadata.partition_columns, configuration=dict(metadata.configuration),
            raise_if_key_not_exists=False,
        )  # fmt: skip
        assert_fails(
            every_way(tier), "expected the positions that each table of a topic has, got none|whose id is"
        )
        return
    catalog = catalog_of(tier)
    table = catalog.load_table(name)
    rows = table.scan(limit=3).to_arrow()
    properties, schema, spec = table.properties, table.schema(), table.spec()
    catalog.drop_table(name)
    made = catalog.create_table(name, schema, partition_spec=spec, properties=properties)
    words = "none, although the property pulsar.positions contains|whose id is"
    assert_fails(every_way(tier), words)
    made.append(rows)
    assert_fails(every_way(tier), words)


def state_of(tier: Tier) -> int:
    """Return the number with which an engine restores the present state."""
    if tier.catalog["type"] == DELTA:
        return DeltaTable(tier.table.name).version()
    snapshot = catalog_of(tier).load_table(tier.table.name).current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def roll_back(tier: Tier, state: int) -> None:
    if tier.catalog["type"] == DELTA:
        DeltaTable(tier.table.name).restore(state)
    else:
        table = catalog_of(tier).load_table(tier.table.name)
        table.manage_snapshots().rollback_to_snapshot(state).commit()


@both_formats
def test_a_topic_made_again_does_not_use_the_old_table(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic made again is refused also by reads without ledgers: of columns alone, or of ranges within the
    table.
    """
    monkeypatch.setattr(topic_notes, "_REFRESH_SECONDS", 0.0)
    fill(tier, 4)
    middle = tier.rows(columns="__messageId").to_pylist()[2 * ENTRIES + 5]["__messageId"]
    until = {"endingOffsets": json.dumps({tier.topic: f"{middle['ledger']}:{middle['entry']}"})}
    assert tier.rows(**until).num_rows == 2 * ENTRIES + 5
    with closing(Query(tier, maxRecordsPerTrigger=str(ENTRIES // 2))) as query:
        assert query.trigger() is not None
        assert query.trigger() is not None
        tier.admin.delete(tier.topic)
        tier.send(range(2 * ENTRIES), batching_enabled=False)
        tier.roll()
        assert_fails([query.trigger], "made again")
    assert_fails([*every_way(tier), lambda: tier.rows(**until)], "made again; drop or rename the table")
    (status,) = tier_status(tier.options(), [TopicName.parse(tier.topic)])
    assert "made again" in str(status.fault)
    command(tier, "drop", "--yes", f"--catalog={json.dumps(tier.catalog)}")
    assert tier.run().rows == 2 * ENTRIES
    assert tier.rows(readFrom="columns").num_rows == 2 * ENTRIES


def test_the_note_is_read_only_when_needed(tier: Tier) -> None:
    """A plan may cover thousands of topics, and each note costs a request."""
    fill(tier, 4)
    tier.send(range(ENTRIES // 2), batching_enabled=False)
    middle = tier.rows(columns="__messageId").to_pylist()[2 * ENTRIES]["__messageId"]
    position = json.dumps({tier.topic: f"{middle['ledger']}:{middle['entry']}"})
    asked: list[str] = []

    def watch(request: Request) -> None:
        if not request.is_answered and "/properties" in request.path:
            asked.append(request.method)

    with HttpGate(tier.server.admin_url, watch) as gate:
        here = {"admin.url": gate.endpoint}

        def requests(action: Callable[[], Any]) -> list[str]:
            asked.clear()
            action()
            return list(asked)

        assert requests(lambda: tier.rows(**here)) == []
        assert requests(lambda: tier.rows(startingOffsets=position, **here)) == []
        assert requests(lambda: tier.rows(tierCatalog="{}", **here)) == []
        assert requests(lambda: tier.rows(endingOffsets=position, **here)) == ["GET"]
        assert requests(lambda: tier.rows(readFrom="columns", **here)) == ["GET"]
        # The stream runs ten micro-batches within the table, and then reads the rest.
        assert requests(lambda: stream(tier, maxRecordsPerTrigger="8", **here)) == ["GET"]
        # A round without work only reads; the next round records a commit in the note.
        tier.run()
        assert requests(lambda: tier.run(**here)) == ["GET"]
        tier.roll()
        assert requests(lambda: tier.run(**here)) == ["GET", "GET", "PUT"]


def test_sql_reports_a_missing_table(sql: SqlTable, spark: SparkSession, tmp_path: Path) -> None:
    tier = sql.tier
    write(tier, numbered(range(100)))
    tier.roll()
    tier.run()
    assert spark.table(sql.columns).count() == 100
    tier.trim()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with in_sql(spark, replace(tier, catalog=tables_in(elsewhere))) as other:
        for frame in (other.frame, lambda: spark.table(other.columns)):
            with pytest.raises(PySparkException, match=r"expected table .*got no table"):
                frame().collect()
        (row,) = spark.table(f"{other.namespace}.`{other.topic}$tier`").collect()
        assert "got no table" in row.fault
    assert len(cells(sql.frame())) == 100
    # Users must not copy the note: a table made with the output of SHOW CREATE TABLE has no link to the
    # topic.
    shown = dict(spark.sql(f"SHOW TBLPROPERTIES {sql.name}").collect())
    assert not any(key.startswith("pyspark-pulsar.") for key in shown)
    with pytest.raises(PySparkException, match="this package reserves"):
        spark.sql(f"ALTER TABLE {sql.name} SET TBLPROPERTIES ('pyspark-pulsar.tier' = '{{}}')")
    tier.admin.delete(tier.topic)
    write(tier, numbered(range(10)))
    tier.roll()
    assert sql.frame(readFrom="broker").count() == 10
    for frame in (sql.frame, lambda: sql.frame(readFrom="columns"), lambda: spark.table(sql.columns)):
        with pytest.raises(PySparkException, match="made again"):
            frame().select("id").collect()
    TopicTables(tier.options()).catalog.drop(tier.table.name, keep_files=False)
    assert tier.run().rows == 10
    assert note_of(tier) is not None
    spark.sql(f"ALTER TABLE {sql.name} UNSET TBLPROPERTIES ('pyspark-pulsar.tier')")
    assert note_of(tier) is None


@both_formats
def test_a_tierer_killed_around_a_commit_loses_no_row(
    tier: Tier, same: Same, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note is written before the first commit, and its ends after each commit, so the note is never ahead
    of the table.
    """
    kind = DeltaColumnarTable if tier.catalog["type"] == DELTA else IcebergTable
    commit = kind.commit
    tier.send(range(3 * ENTRIES), batching_enabled=False)
    tier.roll()

    def die(*arguments: Any, after: bool) -> None:
        if after:
            commit(*arguments)
        raise ColumnsUnavailable("killed")

    for after in (False, True):
        monkeypatch.setattr(kind, "commit", lambda *given: die(*given, after=after))  # noqa: B023
        with pytest.raises(ColumnsUnavailable, match="killed"):
            tier.run()
        note = note_of(tier)
        assert note is not None
        assert (note.id, note.ends) == (tier.table.id, {})
        assert same().num_rows == 3 * ENTRIES
    monkeypatch.undo()
    assert tier.run().rows == 0
    (tiered,) = tier.table.positions.partitions.values()
    note = note_of(tier)
    assert note is not None
    assert note.ends == {-1: tiered.end}
