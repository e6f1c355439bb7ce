"""A round of tiering for one topic: the step from complete ledgers to committed data files. Runs in any process.

    look       reads the table's positions, the topic's ledgers, and the ends of visible messages       ledgers
    compare    checks that the table is the table in the topic's note; updates the note                 topic_note
    follow     creates the table, or adds the columns of the topic's schema                             followed_table
    plan       plans splits of the complete ledgers, with the planner of reads                          read.planning
    write      writes each split to data files                                                          writing
    hold back  excludes ledgers with chunked messages whose last chunks are missing                     open_chunks
    commit     commits files and positions, if the table is still in the state that was read            commit

The table is the checkpoint of tiering, because the table contains the positions. If a round fails before the commit,
the table does not change, and `upkeep` deletes the files of the round. If a failure follows the commit, no work is
lost. If two rounds of a topic run at the same time, only one round can commit. The other round reads the table again,
and usually finds no work left.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.history.columnar.table import TableMoved
from pyspark_pulsar.history.columnar.tiered_schema import parse_tiered_schema
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.commit import RoundResult, commit_parts, log_lost_race
from pyspark_pulsar.history.tiering.definition import (
    TableSettings,
    tiering_options,
    topic_schema,
)
from pyspark_pulsar.history.tiering.followed_table import create_or_follow_table
from pyspark_pulsar.history.tiering.ledgers.open_chunks import ledgers_with_open_chunks
from pyspark_pulsar.history.tiering.ledgers.topic_parts import complete_parts, has_left_over, requests_of
from pyspark_pulsar.history.tiering.topic_note import write_note
from pyspark_pulsar.history.tiering.writing.split_writers import Writers, WriteTask
from pyspark_pulsar.model.topic import TopicName, TopicPartition
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.planning.partition_plan import splits_of
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note
from pyspark_pulsar.runtime import time

_log: Final = logging.getLogger(__name__)

ROUND_BYTES: Final = 8 << 30
"""The approximate limit on the stored bytes that one round tiers of each topic partition. After a failure, the next
round writes this amount again.
"""


@dataclass(frozen=True, slots=True)
class TierRound:
    """A runner of rounds with the same settings for all topics. Used by several threads."""

    options: ReadOptions
    settings: TableSettings
    writers: Writers
    round_bytes: int = ROUND_BYTES

    def run(self, topic: TopicName) -> RoundResult:
        """Run one round for a topic. If the round raises an error, its files are not committed.

        The errors of planning and reading are also raised.

        Raises:
            DataLossError: Ledgers were removed before they were tiered.
            TierMismatch: The table belongs to another topic, or has lost rows.
            SchemaError: The table cannot store the topic's schema.
            ColumnsUnavailable: The table or its catalog cannot be reached.
            OptionError: An option prevents tiering.

        """
        topic = topic.without_partition()
        options = tiering_options(self.options, topic)
        tables = TopicTables(self.options)
        with BrokerClient(options) as client, AdminClient.for_planning(options) as admin:
            schema = topic_schema(client, options)
            # The note is read before the table, so the table is at least as new as the note.
            note, table = fetch_note(admin, topic), tables.load(topic)
            check_note(topic, note, tables, table)
            try:
                table, text = create_or_follow_table(admin, tables, topic, table, schema, self.settings)
            except TableMoved as moved:
                return log_lost_race(topic, tables.identifier(topic), moved)
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
                # Some ledgers must be excluded, so the files are written again without these ledgers. Upkeep deletes
                # the files of this iteration. The repetition is rare, because incomplete chunked messages are rare.
                held |= open_since
        left_over = has_left_over(table, parts, ledgers)
        if not parts:
            return RoundResult(topic, table.name, left_over=left_over)
        result = commit_parts(topic, table, parts, [file for split in written for file in split.files])
        return replace(result, left_over=left_over)
