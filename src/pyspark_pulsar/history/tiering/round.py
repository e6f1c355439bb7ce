"""One round of tiering a topic: what is complete becomes data files and is committed. Runs in any process.

    look       the table's positions; the topic's ledgers; up to where no open transaction reaches      ledgers
    compare    the table is the one that the topic names, and the topic names it from now on            topic_note
    follow     a table is made where there is none, or gets the columns that the topic's schema has     followed_table
    plan       splits of what is complete, by the planner of reads                                      read.planning
    write      each split to data files, wherever the writers are                                       writing
    hold back  a chunked message of which the last chunks are still to come is not cut in two           open_chunks
    commit     files and positions at once, if the table is as it was when it was looked at             commit

The table is the checkpoint. A round that dies before the commit has done nothing but leave files that no commit names
(`upkeep` removes them). One that dies behind it is done. Of two rounds at once one commits; the other is told so,
looks again, and mostly finds nothing left to do.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.history.columnar.table import TableMoved
from pyspark_pulsar.history.columnar.tiered_schema import parse_tiered_schema
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.commit import RoundResult, commit_parts, lost_race
from pyspark_pulsar.history.tiering.definition import (
    TableSettings,
    tiering_options,
    topic_schema,
)
from pyspark_pulsar.history.tiering.followed_table import followed_table
from pyspark_pulsar.history.tiering.ledgers.open_chunks import ledgers_with_open_chunks
from pyspark_pulsar.history.tiering.ledgers.topic_parts import complete_parts, leaves_over, requests_of
from pyspark_pulsar.history.tiering.topic_note import write_note
from pyspark_pulsar.history.tiering.writing.split_writers import Writers, WriteTask
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.partition_plan import splits_of
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note

_log: Final = logging.getLogger(__name__)

ROUND_BYTES: Final = 8 << 30
"""Stored bytes of a topic partition that a round takes: what is done again when it dies."""


@dataclass(frozen=True, slots=True)
class TierRound:
    """Rounds of topics with the same settings. Used by several threads."""

    options: ReadOptions
    settings: TableSettings
    writers: Writers
    round_bytes: int = ROUND_BYTES

    def run(self, topic: TopicName) -> RoundResult:
        """Raises `DataLossError` for ledgers that are gone and not tiered, `TierMismatch`, `SchemaError`,
        `ColumnsUnavailable`, `OptionError`, and the errors of planning and reading. Then nothing is committed."""
        topic = topic.without_partition()
        options = tiering_options(self.options, topic)
        tables = TopicTables(self.options)
        with BrokerClient(options) as client, AdminClient.for_planning(options) as admin:
            schema = topic_schema(client, options)
            # The table is loaded after the note is read, so it is not behind it.
            note, table = fetch_note(admin, topic), tables.load(topic)
            check_note(topic, note, tables, table)
            try:
                table, text = followed_table(admin, tables, topic, table, schema, self.settings)
            except TableMoved as moved:
                return lost_race(topic, tables.identifier(topic), moved)
            storage, layout = table.storage, table.layout(text)
            keeps_all = parse_tiered_schema(text, f"table {table.name}").keeps_all
            schema = replace(schema, keeps_all_payloads=keeps_all)
            held: dict[TopicPartition, int] = {}
            while True:
                parts, ledgers = complete_parts(
                    client, admin, options, topic, table, note, held, self.round_bytes
                )
                note = write_note(admin, tables, topic, table, note)
                splits = splits_of(SplitPlanner(options, client, admin).plan(requests_of(parts)))
                tasks = [WriteTask(options, schema, split, layout, storage) for split in splits]
                written = self.writers.write(tasks)
                open_since = ledgers_with_open_chunks(splits, written, ledgers, time.time_ns() // 1_000_000)
                if not open_since:
                    break
                # Rare, and the files of this turn are left to the upkeep.
                held |= open_since
        left_over = leaves_over(table, parts, ledgers)
        if not parts:
            return RoundResult(topic, table.name, left_over=left_over)
        result = commit_parts(topic, table, parts, [file for split in written for file in split.files])
        return replace(result, left_over=left_over)
