"""The planner's knowledge of a table that Spark's own scan reads, and the option that contains it."""

from __future__ import annotations

import pytest

from pyspark_pulsar.client.ledger import Ledger
from pyspark_pulsar.errors import OptionError, ProtocolError, TierMismatch
from pyspark_pulsar.history.columnar.positions import TieredPartition, TieredPositions
from pyspark_pulsar.history.columnar.tier_note import TierNote
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers
from pyspark_pulsar.read.planning.tables.known_tables import known_tables, table_end_document, uses_tables

PARTITION = TopicPartition.parse("persistent://public/default/t-partition-0")
OTHER = TopicPartition.parse("persistent://public/default/t-partition-1")
TIERED = TieredPartition(Position(9, 3), created="2026-01-31T08:00:00.000Z")
OPTIONS = {"service.url": "pulsar://h:1", "admin.url": "http://h:1", "topic": "t"}
BEHIND = table_end_document("n.t", "id-1", TieredPositions({PARTITION: TIERED}))


def options(**further: str) -> ReadOptions:
    return parse_options(ReadOptions, {**OPTIONS, **further})


def test_only_the_end_of_the_table_is_known() -> None:
    given = options(behindTable=BEHIND)
    given.check_read_from()
    assert uses_tables(given)
    tables = known_tables(given)
    tables.refresh([PARTITION, OTHER])
    assert tables.positions_of(PARTITION) == TIERED
    assert tables.positions_of(OTHER) is None
    assert tables.table(PARTITION) is None


LATER = "2026-02-01T00:00:00.000Z"
SAME_LEDGER = (Ledger(9, 3, 100, opened_ms=None, closed_ms=0),)


@pytest.mark.parametrize(
    ("ledgers", "note"),
    [
        ((), TierNote("n.t", "id-1")),
        # Another cluster uses the same ids of ledgers.
        (SAME_LEDGER, None),
        (SAME_LEDGER, TierNote("n.t", "id-2")),
    ],
)
def test_a_topic_that_was_created_again_is_a_mismatch(
    ledgers: tuple[Ledger, ...], note: TierNote | None
) -> None:
    tables = known_tables(options(behindTable=BEHIND))
    with pytest.raises(TierMismatch, match=r"topic of table n\.t.* made again"):
        tables.check(PARTITION, TopicLedgers(ledgers, created=LATER), lambda: note)


def test_a_topic_whose_metadata_was_moved_matches() -> None:
    tables = known_tables(options(behindTable=BEHIND))
    tables.check(PARTITION, TopicLedgers(SAME_LEDGER, created=LATER), lambda: TierNote("n.t", "id-1"))


def test_an_invalid_option_value_is_refused() -> None:
    with pytest.raises(OptionError, match="JSON object"):
        options(behindTable="[1]")
    with pytest.raises(ProtocolError, match="behindTable"):
        known_tables(options(behindTable='{"table": "x"}'))
    with pytest.raises(OptionError, match="only for a batch"):
        options(behindTable=BEHIND).check_stream()
    without = parse_options(ReadOptions, {"service.url": "pulsar://h:1", "topic": "t", "behindTable": BEHIND})
    with pytest.raises(OptionError, match=r"admin\.url"):
        without.check_read_from()
