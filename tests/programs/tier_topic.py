"""A program that tiers one topic, and that a test kills at random. The first argument contains read options as JSON.

With `--retries`, pyiceberg retries commits. The table must then contain repeated rows.
"""

from __future__ import annotations

import json
import sys

from pyspark_pulsar.history.columnar.iceberg import catalog as iceberg
from pyspark_pulsar.history.tiering.definition import TableSettings
from pyspark_pulsar.history.tiering.round import TierRound
from pyspark_pulsar.history.tiering.topic_rounds import tier_topics, tiered_topics
from pyspark_pulsar.history.tiering.writing.split_writers import ProcessWriters
from pyspark_pulsar.options import ReadOptions, parse_options


def main() -> None:
    if "--retries" in sys.argv:
        # In the control, the second of two concurrent commits succeeds after the first commit.
        iceberg._PROPERTIES["commit.retry.num-retries"] = "4"
    options = parse_options(ReadOptions, json.loads(sys.argv[1]))
    tier_round = TierRound(options, TableSettings(), ProcessWriters(1), round_bytes=2000)
    for outcome in tier_topics(tier_round, tiered_topics(options)):
        if outcome.fault is not None:
            raise outcome.fault


if __name__ == "__main__":
    main()
