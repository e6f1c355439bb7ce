"""`pyspark-pulsar layout`, and other output about segments of scalable topics."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from click.testing import CliRunner

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import OptionError, TopicNotFoundError
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.topic_layout import TopicLayout, TopicSegment
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.failover.resume import PreviousCluster, resume_points

NAME = "topic://public/default/orders"
SERVICE = ["--service-url", "pulsar://h:1"]
LAYOUT = TopicLayout(
    TopicName.parse(NAME, scalable=True),
    (TopicSegment(0, 0, 0xFFFF, is_sealed=True), TopicSegment(1, 0, 0x7FFF, is_sealed=False, parents=(0,))),
)


@pytest.fixture(autouse=True)
def _broker(monkeypatch: pytest.MonkeyPatch) -> None:
    def layouts(_: BrokerClient, topics: Iterable[TopicName]) -> dict[TopicName, TopicLayout | None]:
        return {topic: LAYOUT if topic == LAYOUT.topic else None for topic in topics}

    monkeypatch.setattr(BrokerClient, "layouts", layouts)


def test_segments_as_a_table() -> None:
    result = CliRunner().invoke(cli, ["layout", NAME, *SERVICE], catch_exceptions=False)
    lines = [line.split() for line in result.output.splitlines()]
    assert [NAME] in lines
    assert ["0", "sealed", "0000", "to", "ffff", "segment://public/default/orders/0000-ffff-0"] in lines
    assert ["1", "active", "0000", "to", "7fff", "0", "segment://public/default/orders/0000-7fff-1"] in lines


def test_segments_as_json() -> None:
    result = CliRunner().invoke(cli, ["layout", NAME, *SERVICE, "--json"], catch_exceptions=False)
    first, second = (json.loads(line) for line in result.output.splitlines())
    assert (first["segment"], first["state"], first["parents"]) == (0, "sealed", [])
    assert (second["topic"], second["first_hash"], second["last_hash"], second["parents"]) == (
        NAME,
        0,
        0x7FFF,
        [0],
    )


@pytest.mark.parametrize(
    ("topic", "kind", "text"),
    [
        (
            "persistent://public/default/orders",
            OptionError,
            "expected a scalable topic.*pyspark-pulsar segments",
        ),
        ("topic://public/default/others", TopicNotFoundError, "topic://public/default/others does not exist"),
    ],
)
def test_other_topics_have_no_segments(topic: str, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        CliRunner().invoke(cli, ["layout", topic, *SERVICE], catch_exceptions=False)


def test_a_query_on_segments_cannot_fail_over() -> None:
    options = ReadOptions(service_url="pulsar://h:1", admin_url="http://h:2", topic=NAME)
    read_until = dict.fromkeys(LAYOUT.partitions, Position(1, 2))
    with pytest.raises(
        OptionError, match="which Pulsar 5 does not replicate: segment://public/default/orders/0000-ffff-0"
    ):
        resume_points(options, PreviousCluster("east", margin_ms=0), read_until)
