"""Tables in other catalogs and places than a folder's own: a REST catalog, S3, one in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fixtures.cluster import object_store
from fixtures.http_gate import AnswerLost, HttpGate, Request
from integration.tier.conftest import ENTRIES, Tier, s3_settings
from integration.tier.test_tables import fill

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.upkeep import keep_up
from pyspark_pulsar.model.topic import TopicName, TopicPartition

Catalogs = Callable[[str], dict[str, str]]


@pytest.fixture
def catalogs(tmp_path: Path, request: pytest.FixtureRequest) -> Catalogs:
    """Properties of a catalog of some kind that is empty yet."""

    def properties(kind: str) -> dict[str, str]:
        if kind == "rest":
            return {"type": "rest", "uri": request.getfixturevalue("rest_catalog"), "token": "any"}
        if kind == "s3":
            endpoint = request.getfixturevalue("endpoint")
            warehouse = f"s3://{object_store.BUCKET}/{tmp_path.name}"
            return {
                "type": "sql", "uri": f"sqlite:///{tmp_path}/s3.db", "warehouse": warehouse, **s3_settings(endpoint),
            }  # fmt: skip
        return {"type": "in-memory", "warehouse": f"file://{tmp_path}/memory", "name": tmp_path.name}

    return properties


@pytest.mark.parametrize("kind", ["rest", "s3", "memory"])
def test_the_life_of_a_table(kind: str, tier: Tier, catalogs: Catalogs) -> None:
    tier = replace(tier, catalog=catalogs(kind))
    fill(tier, 3)
    tier.send(range(3 * ENTRIES, 4 * ENTRIES - 1))
    expected = tier.rows(readFrom="broker")
    assert tier.rows().equals(expected)
    assert tier.places().count("columns") > 0
    assert tier.rows(columns="value").equals(expected.select(["value"]))
    done = keep_up(tier.table, expire_after=0)
    assert (done.compacted, done.made) == (3, 1)
    assert tier.rows().equals(expected)
    tier.trim()
    assert tier.rows().equals(expected)
    tables = TopicTables(tier.options())
    name = tables.identifier(TopicName.parse(tier.topic))
    assert tables.catalog.drop(name, keep_files=False)
    assert tables.load(TopicName.parse(tier.topic)) is None
    assert not tables.catalog.drop(name, keep_files=False)


def test_a_store_that_goes_away(tier: Tier, endpoint: str, tmp_path: Path) -> None:
    """At each request of a round: no half round is committed, and while the ledgers are there they are read."""
    left = math.inf

    def watch(request: Request) -> None:
        nonlocal left
        if not request.is_answered:
            left -= 1
            if left < 0:
                raise AnswerLost

    with HttpGate(endpoint, watch) as gate:
        catalog = {
            "type": "sql", "uri": f"sqlite:///{tmp_path}/s3.db", **s3_settings(gate.endpoint),
            "warehouse": f"s3://{object_store.BUCKET}/{tmp_path.name}",
        }  # fmt: skip
        tier = replace(tier, catalog=catalog)
        fill(tier, 2)
        tier.send(range(2 * ENTRIES, 3 * ENTRIES), batching_enabled=False)
        tier.roll()
        expected, positions = tier.rows(readFrom="broker"), tier.table.positions
        partition, requests = TopicPartition.parse(tier.topic), 0
        while True:
            left = requests
            outcome = tier.outcome()
            left = math.inf
            if outcome.fault is None:
                break
            assert isinstance(outcome.fault, ColumnsUnavailable)
            assert object_store.SECRET_KEY not in str(outcome.fault)
            # All of the round, where only the look at what comes next has failed, or nothing.
            is_whole = tier.table.positions.of(partition) != positions.of(partition)
            tiered = tier.rows(readFrom="columns")
            assert tiered.equals(expected.slice(0, (3 if is_whole else 2) * ENTRIES))
            assert tier.rows().equals(expected)
            requests += 6
        assert requests > 8
        assert tier.rows(readFrom="columns").equals(expected)
        left = 0
        start = json.dumps({tier.topic: "0:0"})
        assert tier.rows(startingOffsets=start, failOnDataLoss="false").equals(expected)
        # At earliest nobody but the table can say whether rows are missing.
        for options in ({}, {"readFrom": "columns"}):
            with pytest.raises(ColumnsUnavailable):
                tier.rows(**options)
