"""The requests about a range with missing entries."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.errors import ConnectionFailed
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.location import PartitionAccess
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange
from pyspark_pulsar.read.task.audit import RangeTally, SplitAudit
from pyspark_pulsar.read.task.loss_check import LossCheck

RANGE = SplitRange(Position(7, 5), Position(7, 9), FromBroker())


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [("persistent://public/default/t", True), ("segment://public/default/t/0000-ffff-0", False)],
)
def test_the_ledgers_of_a_segment_are_not_listed(name: str, is_asked: bool) -> None:
    options = ReadOptions(
        service_url="pulsar://127.0.0.1:1", topic="t", admin_url="http://127.0.0.1:1", operation_timeout_ms=1
    )
    partition = TopicPartition.parse(name)
    split = Split(partition, RANGE.start, RANGE.end, (RANGE,))
    access = PartitionAccess(options, partition, BrokerClient(options))
    check = LossCheck(access, SplitAudit(split))
    with pytest.raises(ConnectionFailed) if is_asked else nullcontext():
        assert not check.is_lost(RANGE, RangeTally(name, RANGE, counts_messages=True))
