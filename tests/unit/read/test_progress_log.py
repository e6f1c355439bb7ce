"""Log lines about the lag of a stream."""

import logging

import pytest

from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.read.microbatch.progress.lag import Lag, LagReport
from pyspark_pulsar.read.microbatch.progress.query_progress import LOG_SECONDS, ProgressLog
from pyspark_pulsar.spark.logging import PROGRESS_LOG

A, B = TopicPartition.parse("a"), TopicPartition.parse("b")
BEHIND = LagReport(0, {A: Lag(3, 300, 1.25), B: Lag(4, 400, 61.0)})
TEXT = (
    "the query lags in 2 topic partitions: about 7 messages, 700 bytes; the oldest message is 61 s old, in "
    "persistent://public/default/b"
)


def test_one_line_a_minute_and_one_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = ProgressLog(lambda: now[0], counts=True)
    with caplog.at_level(logging.INFO, PROGRESS_LOG):
        log.log(LagReport(0, {}))
        assert not caplog.records
        for _ in range(130):
            log.log(BEHIND)
            now[0] += 1
        log.log(LagReport(0, {}))
        log.log(LagReport(0, {}))
    assert LOG_SECONDS == 60
    assert [record.getMessage() for record in caplog.records] == [
        *[TEXT] * 3,
        "the query has read all messages of its topics",
    ]


@pytest.mark.parametrize(
    ("lags", "counts", "text"),
    [
        ((Lag(3, 300, 5.0), Lag(None, None, None)), True,
         "2 topic partitions: about 3 messages, 300 bytes, and 1 partition not counted yet; the"),
        ((Lag(3, None, 5.0), Lag(4, None, 6.0)), True, "2 topic partitions: about 7 messages; the oldest"),
        ((Lag(None, None, None), Lag(None, None, None)), True,
         "2 topic partitions, whose messages are counted at the next triggers; the oldest message is of unknown age"),
        ((Lag(None, None, 7.0), Lag(None, None, 6.0)), False,
         "2 topic partitions, whose messages are not counted without admin.url; the oldest message is 7 s old"),
    ],
)  # fmt: skip
def test_the_line_contains_everything_known(
    lags: tuple[Lag, Lag], counts: bool, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, PROGRESS_LOG):
        ProgressLog(counts=counts).log(LagReport(0, dict(zip((A, B), lags, strict=True))))
    assert text in caplog.records[0].getMessage()
    assert "unknown number" not in caplog.text


def test_one_message_is_written_in_the_singular(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, PROGRESS_LOG):
        ProgressLog(counts=True).log(LagReport(0, {A: Lag(1, 68, 2.0)}))
    assert "the query lags in 1 topic partition: about 1 message, 68 bytes; the" in caplog.text
