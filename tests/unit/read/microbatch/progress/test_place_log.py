"""The locations of micro-batches are counted, and a change is logged."""

from __future__ import annotations

import logging

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.progress.place_log import PlaceLog
from pyspark_pulsar.read.sources.bookkeeper import FromBookies
from pyspark_pulsar.read.sources.broker import FromBroker
from pyspark_pulsar.read.split import Split, SplitRange

A = TopicPartition.parse("persistent://public/default/a")
BEGIN, MIDDLE, END = Position(7, 0), Position(9, 0), Position(9, 5)
FAR = SplitRange(BEGIN, MIDDLE, FromBookies(Ledger(7, 4, 40, None, 1)))
NEAR = SplitRange(MIDDLE, END, FromBroker())


def test_a_change_of_locations_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    places = PlaceLog()
    assert places.by_place == {}
    places.note([Split(A, BEGIN, MIDDLE, (FAR,)), Split(A, BEGIN, END, (FAR, NEAR))])
    assert places.by_place == {"bookie": 2, "broker": 1}
    places.note([])
    assert places.by_place == {"bookie": 2, "broker": 1}
    for _ in range(2):
        places.note([Split(A, MIDDLE, END, (NEAR,))])
    assert places.by_place == {"broker": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "micro-batches are now read from (ranges per location): bookie 2, broker 1",
        "micro-batches are now read from (ranges per location): broker 1",
    ]
