"""Tiers one topic; killed at random by a test. Options of a read are JSON in the one argument."""

from __future__ import annotations

import json
import sys

from pyspark_pulsar.options import ReadOptions, parse_options
from pyspark_pulsar.tiering.definition import TableSettings
from pyspark_pulsar.tiering.round import TierRound
from pyspark_pulsar.tiering.run import tier_topics, tiered_topics
from pyspark_pulsar.tiering.writers import ProcessWriters


def main() -> None:
    options = parse_options(ReadOptions, json.loads(sys.argv[1]))
    tier_round = TierRound(options, TableSettings(), ProcessWriters(1), round_bytes=2000)
    for outcome in tier_topics(tier_round, tiered_topics(options)):
        if outcome.fault is not None:
            raise outcome.fault


if __name__ == "__main__":
    main()
