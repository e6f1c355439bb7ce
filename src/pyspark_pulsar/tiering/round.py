"""One round of tiering a topic: what is complete becomes data files and is committed. Runs in any process.

    look       the table's positions; the topic's ledgers; up to where no open transaction reaches      complete
    compare    the table is the one that the topic names, and the topic names it from now on            topic_note
    follow     a table is made where there is none, or gets the columns that the topic's schema has     definition
    plan       splits of what is complete, by the planner of reads                                      read.planning
    write      each split to data files, wherever the writers are                                       writers
    hold back  a chunked message of which the last chunks are still to come is not cut in two           chunked
    commit     files and positions at once, if the table is as it was when it was looked at             columnar.table

The table is the checkpoint. A round that dies before the commit has done nothing but leave files that no commit names
(`upkeep` removes them). One that dies behind it is done. Of two rounds at once one commits; the other is told so,
looks again, and mostly finds nothing left to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.client.admin.transaction_buffer import readable_end
from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.columnar.positions import TieredPartition
from pyspark_pulsar.columnar.table import ColumnarTable, TableMoved
from pyspark_pulsar.columnar.tier_note import TierNote
from pyspark_pulsar.columnar.tiered_schema import parse_tiered_schema
from pyspark_pulsar.columnar.topic_tables import TopicTables
from pyspark_pulsar.columnar.writing.writer import WrittenFile
from pyspark_pulsar.errors import ProtocolError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.position import EARLIEST, Position
from pyspark_pulsar.read.bounds.request import RangeRequest
from pyspark_pulsar.read.bounds.topics import discover_partitions
from pyspark_pulsar.read.log_end import LogEnds
from pyspark_pulsar.read.planning.ledgers.data_loss import is_cut_off, retention_ms
from pyspark_pulsar.read.planning.ledgers.topic_ledgers import TopicLedgers, fetch_ledgers
from pyspark_pulsar.read.planning.partition_plan import splits_of
from pyspark_pulsar.read.planning.planner import SplitPlanner
from pyspark_pulsar.read.planning.tables.known_tables import check_same_topic
from pyspark_pulsar.read.planning.tables.topic_notes import check_note, fetch_note
from pyspark_pulsar.tiering.chunked import held_back
from pyspark_pulsar.tiering.complete import CompletePart, complete_part
from pyspark_pulsar.tiering.definition import (
    TableSettings,
    definition_of,
    follow,
    tiering_options,
    topic_schema,
)
from pyspark_pulsar.tiering.topic_note import write_note
from pyspark_pulsar.tiering.topic_properties import topic_settings
from pyspark_pulsar.tiering.writers import Writers, WriteTask
from pyspark_pulsar.topic import TopicName, TopicPartition

_log: Final = logging.getLogger(__name__)

ROUND_BYTES: Final = 8 << 30
"""Stored bytes of a topic partition that a round takes: what is done again when it dies."""


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What a round has committed."""

    topic: TopicName
    table: str
    parts: Mapping[TopicPartition, CompletePart] = field(default_factory=dict)
    """Empty where there was nothing to do, or another process was first."""
    files: int = 0
    rows: int = 0
    size: int = 0
    """Bytes of the files."""
    is_lost_race: bool = False
    left_over: bool = False
    """Whether closed ledgers with entries are not tiered: an open transaction or a chunked message holds them back, or
    they are for the next round."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do for now."""
        return not self.is_lost_race and all(part.is_empty for part in self.parts.values())

    @property
    def took_all(self) -> bool:
        """Whether it took all that was complete when it began."""
        return not self.is_lost_race and not any(part.is_cut for part in self.parts.values())


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
                if table is None:
                    catalog = tables.catalog
                    settings = topic_settings(admin, topic, catalog.format, self.settings)
                    table = catalog.create(tables.identifier(topic), definition_of(schema, topic, settings))
                text = follow(table, schema)
            except TableMoved as moved:
                return _lost_race(topic, tables.identifier(topic), moved)
            storage, layout = table.storage, table.layout(text)
            keeps_all = parse_tiered_schema(text, f"table {table.name}").keeps_all
            schema = replace(schema, keeps_all_payloads=keeps_all)
            held: dict[TopicPartition, int] = {}
            while True:
                parts, ledgers = self._complete(client, admin, options, topic, table, note, held)
                note = write_note(admin, tables, topic, table, note)
                splits = splits_of(SplitPlanner(options, client, admin).plan(_requests(parts)))
                tasks = [WriteTask(options, schema, split, layout, storage) for split in splits]
                written = self.writers.write(tasks)
                open_since = held_back(splits, written, ledgers, time.time_ns() // 1_000_000)
                if not open_since:
                    break
                # Rare, and the files of this turn are left to the upkeep.
                held |= open_since
        left_over = _leaves_over(table, parts, ledgers)
        if not parts:
            return RoundResult(topic, table.name, left_over=left_over)
        result = _commit(topic, table, parts, [file for split in written for file in split.files])
        return replace(result, left_over=left_over)

    def _complete(
        self,
        client: BrokerClient,
        admin: AdminClient,
        options: ReadOptions,
        topic: TopicName,
        table: ColumnarTable,
        note: TierNote | None,
        held: Mapping[TopicPartition, int],
    ) -> tuple[dict[TopicPartition, CompletePart], dict[TopicPartition, TopicLedgers]]:
        """What comes next of each topic partition, and the ledgers of all. `held`: the ledgers from which on chunked
        messages are still open."""
        partitions = discover_partitions(client, [topic])
        with closing(LogEnds(client)) as log_ends:
            # What is hidden now is a part of a later round.
            ends = log_ends.ends(partitions, comes_again=True)
        ledgers = fetch_ledgers(admin, partitions)
        positions, parts = table.positions, {}
        for partition in partitions:
            former = positions.of(partition)
            if former is not None:
                present, place = ledgers[partition], (f"table {table.name}", table.id)
                check_same_topic(partition, former, place, present, lambda: note)
                if note is not None and options.fail_on_data_loss and is_cut_off(former.end, present):
                    _check_end(admin, partition, former, present, note)
            part = complete_part(
                partition,
                ledgers[partition],
                former,
                _readable_end(admin, partition, ledgers[partition], ends[partition]),
                time.time_ns() // 1_000_000,
                max_bytes=self.round_bytes,
                before=held.get(partition),
                kept_ms=partial(retention_ms, admin, partition),
                fail=options.fail_on_data_loss,
            )
            if part is not None:
                parts[partition] = part
        return parts, ledgers


def _leaves_over(
    table: ColumnarTable,
    parts: Mapping[TopicPartition, CompletePart],
    ledgers: Mapping[TopicPartition, TopicLedgers],
) -> bool:
    """Return whether some closed ledger with entries lies behind what is tiered and what is about to be."""
    for partition, present in ledgers.items():
        tiered = parts[partition].tiered if partition in parts else table.positions.of(partition)
        end = EARLIEST if tiered is None else tiered.end
        for ledger in present.ledgers:
            if not ledger.is_open and ledger.entries and Position(ledger.id, ledger.entries) > end:
                return True
    return False


def _check_end(
    admin: AdminClient,
    partition: TopicPartition,
    tiered: TieredPartition,
    present: TopicLedgers,
    note: TierNote,
) -> None:
    """Raise `TierMismatch` where a table that went back ends before the ledgers that are left."""
    kept_ms = partial(retention_ms, admin, partition)
    if not tiered.is_outlived(present.ledgers[0].id, time.time_ns() // 1_000_000, kept_ms):
        note.check_end(partition, tiered)


def _requests(parts: Mapping[TopicPartition, CompletePart]) -> list[RangeRequest]:
    return [
        RangeRequest(partition, part.start, part.tiered.end, is_whole=True)
        for partition, part in sorted(parts.items())
        if not part.is_empty
    ]


def _readable_end(
    admin: AdminClient, partition: TopicPartition, present: TopicLedgers, end: Position
) -> Position:
    """Behind the last visible message, or behind markers and aborted messages that follow it in closed ledgers."""
    closed = [ledger for ledger in present.ledgers if not ledger.is_open and ledger.entries]
    if not closed or Position(closed[-1].id, closed[-1].entries) <= end:
        return end
    return max(end, readable_end(admin, partition) or end)


def _commit(
    topic: TopicName,
    table: ColumnarTable,
    parts: Mapping[TopicPartition, CompletePart],
    files: Sequence[WrittenFile],
) -> RoundResult:
    foreign = {str(file.partition) for file in files if file.partition.topic != topic}
    if foreign:
        raise ProtocolError(
            f"table {table.name}: expected files of {topic}, got some of {', '.join(sorted(foreign))}; nothing is "
            f"committed, and the files are left to the upkeep"
        )
    positions = table.positions.replaced({partition: part.tiered for partition, part in parts.items()})
    try:
        table.commit(files, positions)
    except TableMoved as moved:
        return _lost_race(topic, table.name, moved, len(files))
    rows, size = sum(file.rows for file in files), sum(file.size for file in files)
    _log.info("table %s: %d rows of %s in %d files", table.name, rows, topic, len(files))
    return RoundResult(topic, table.name, parts, len(files), rows, size)


def _lost_race(topic: TopicName, table: str, moved: TableMoved, files: int = 0) -> RoundResult:
    _log.info(
        "table %s: somebody else has committed meanwhile (%s); %d files are left to the upkeep",
        table,
        moved,
        files,
    )
    return RoundResult(topic, table, is_lost_race=True)
