"""Lines in the log about a stream that is behind."""

import logging

import pytest

from pyspark_pulsar.read.microbatch.progress.lag import Lag, LagReport
from pyspark_pulsar.read.microbatch.progress.query_progress import LOG_SECONDS, ProgressLog
from pyspark_pulsar.spark.logging import PROGRESS_LOG
from pyspark_pulsar.topic import TopicPartition

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
BEHIND = LagReport(0, {A: Lag(3, 300, 1.25), B: Lag(4, None, 61.0)})
TEXT = (
    "the query is behind in 2 topic partitions: about 7 messages, an unknown number of bytes; the oldest is 61 s old, "
    "in persistent://public/default/b"
)


def test_a_line_a_minute_and_one_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = ProgressLog(lambda: now[0])
    with caplog.at_level(logging.INFO, PROGRESS_LOG):
        log.tell(LagReport(0, {}))
        assert not caplog.records
        for _ in range(130):
            log.tell(BEHIND)
            now[0] += 1
        log.tell(LagReport(0, {}))
        log.tell(LagReport(0, {}))
    assert LOG_SECONDS == 60
    assert [record.getMessage() for record in caplog.records] == [
        *[TEXT] * 3,
        "the query has read all that its topics hold",
    ]
