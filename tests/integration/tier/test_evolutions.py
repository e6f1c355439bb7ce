"""A hundred random schema evolutions of topics with tables; `make soak-evolutions` plays thousands of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from integration.tier.test_schemas import document, field
from pyspark.sql import SparkSession
from soak.evolution.damage import DAMAGES
from soak.evolution.play import Player
from soak.evolution.record_versions import encoded
from soak.evolution.spark_reads import SparkReads
from soak.evolution.steps import (
    AVRO,
    DELTA,
    ICEBERG,
    Close,
    Evolution,
    Message,
    Read,
    Register,
    Send,
    Tier,
    Trim,
    Version,
)
from soak.evolution.topics import Place
from soak.evolutions_soaking import Setting, play_all

from pyspark_pulsar.tools.standalone import LocalPulsar

EVOLUTIONS = 100


def test_table_and_topic_are_the_topic(
    small_ledgers: LocalPulsar, spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    setting = Setting(
        small_ledgers.service_url, small_ledgers.admin_url, tmp_path, processes=2, by_spark_every=20, shrunk=1
    )
    reads = SparkReads(spark, tmp_path / "checkpoints")
    report = play_all(setting, reads, range(seed, seed + EVOLUTIONS), say=print)
    assert not report.differences, "\n".join(report.faults)
    assert report.evolutions == EVOLUTIONS
    assert report.by_spark == EVOLUTIONS // setting.by_spark_every
    assert report.rows_after_trim > EVOLUTIONS


@pytest.mark.parametrize("table_format", [ICEBERG, DELTA])
@pytest.mark.parametrize("damage", [None, *DAMAGES])
def test_the_comparison_finds_damage(
    small_ledgers: LocalPulsar, tmp_path: Path, damage: str | None, table_format: str
) -> None:
    """The control."""
    server = small_ledgers
    place = Place.open(server.service_url, server.admin_url, tmp_path, tmp_path.name)
    player = Player(place, None if damage is None else DAMAGES[damage])
    found = player.play(_field_that_is_away(table_format)).difference
    assert (found is not None) == (damage is not None), found
    if found is not None:
        assert found.kind == "cells", found


def _field_that_is_away(table_format: str) -> Evolution:
    """An evolution whose messages say more than the schema that they are tiered by."""
    one, other = field("one", "int"), field("other", "int")
    more = field("more", ["null", "string"], default=None)
    documents = [document(one, other, more), document(one, other), document(other, one, more)]
    row = {"one": 1, "other": 2, "more": "text"}
    # The table keeps the payload of the first message, and only columns of the second.
    sent = [
        Send(version, (Message(encoded(documents[version], row), str(row)),), is_batch=False)
        for version in (0, 1)
    ]
    versions = tuple(Version(json.dumps(each), json.dumps(each), ()) for each in documents)
    steps = (Register(0), Register(1), *sent, Close(), Tier(), Register(2), Trim(), Read())
    return Evolution(0, AVRO, table_format, versions, steps)
