"""The note: a property of a topic that names the topic's table. Pure.

The name of the property is `pyspark-pulsar.tier`. When a topic is deleted, Pulsar deletes the property too. If the
topic is created again, the new topic has no note. The value of the property is a JSON document:

    {"version": 1, "table": "public_default.orders", "id": "0a1b...", "catalog": {"type": "sql", "uri": "..."},
     "ends": {"0": "23:0:0", "1": "31:0:0"}}

`id` is the table's unique identity. `catalog` contains the settings that located the table when the note was last
written, without secrets. The settings are used only in error messages. For each partition index, `ends` contains the
position (exclusive) up to which the topic partition was tiered. The index is `-1` for a topic without partitions. The
positions in the table can be later than `ends`. If the positions in the table are earlier than `ends`, the table was
restored to an earlier state.

Tiering writes the note before the table's first commit. Readers compare the note with the table that is found by the
options of the read. If the table is missing, was replaced or was restored to an earlier state, the read fails. Without
the note, the read would treat the history as empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.errors import ProtocolError, TierMismatch
from pyspark_pulsar.history.columnar.positions import TieredPartition
from pyspark_pulsar.history.columnar.redaction import redact, secret_values
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition

TIER_NOTE: Final = "pyspark-pulsar.tier"
"""The name of the topic property that contains the note."""
BEGIN_AGAIN: Final = "pyspark-pulsar tier forget"
"""The command that removes the note. Afterwards, the topic can be tiered from scratch."""

_VERSION: Final = 1
_SHOWN: Final = ("type", "name", "uri", "warehouse", "path")
"""The names of the settings that locate a catalog."""
_USER: Final = re.compile(r"://(?:[^/]*:.*@|[^/@]*@)")
_QUERY: Final = re.compile(r"[?#].*")


def catalog_place(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that locate a catalog. Users, passwords and queries are removed from URLs."""
    secrets = secret_values(settings)
    return {
        key: redact(_QUERY.sub("", _USER.sub("://", settings[key])), secrets)
        for key in _SHOWN
        if key in settings
    }


@dataclass(frozen=True, slots=True)
class TierNote:
    """The table of a topic, and the positions up to which the topic was tiered."""

    table: str
    """The table's name in the catalog."""
    id: str
    catalog: Mapping[str, str] = field(default_factory=dict)
    """The settings that locate the table's catalog, from `catalog_place`."""
    ends: Mapping[int, Position] = field(default_factory=dict)

    def to_json(self) -> str:
        document = {
            "version": _VERSION,
            "table": self.table,
            "id": self.id,
            "catalog": dict(self.catalog),
            "ends": {str(index): str(end) for index, end in sorted(self.ends.items())},
        }
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, topic: TopicName) -> TierNote:
        """Parse the value of the property.

        Raises:
            ProtocolError: A later version or another program wrote the note.

        """
        try:
            document = json.loads(text)
            if document["version"] == _VERSION:
                ends = {int(index): Position.parse(end) for index, end in document["ends"].items()}
                return cls(document["table"], document["id"], dict(document["catalog"]), ends)
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise ProtocolError(
                f"topic {topic}, property {TIER_NOTE}: expected a note that pyspark-pulsar wrote, got {text[:200]!r} "
                f"({fault!r}); run {BEGIN_AGAIN} to remove the note"
            ) from None
        raise ProtocolError(
            f"topic {topic}, property {TIER_NOTE}: expected a note in format version {_VERSION}, got format version "
            f"{document['version']}; use the version of pyspark-pulsar that wrote the note"
        )

    def of_table(self, table: ColumnarTable, name: str, catalog: Mapping[str, str]) -> TierNote:
        """Return a note with the name and the positions of a table.

        If this note names the same table, each end in the result is at least as late as in this note.
        """
        ends = dict(self.ends) if self.id == table.id else {}
        for partition, tiered in table.positions.partitions.items():
            ends[partition.index] = max(tiered.end, ends.get(partition.index, tiered.end))
        return TierNote(name, table.id, catalog, ends)

    @property
    def place(self) -> str:
        """Return a description of the table and its catalog, for error messages."""
        return f"table {self.table} (id {self.id}) of catalog {json.dumps(dict(self.catalog))}"

    def check_table(self, topic: TopicName, found: str | None, where: str) -> None:
        """Raise `TierMismatch` unless `found` is the identity of the note's table.

        Args:
            topic: The topic of this note.
            found: The identity of the table that was found; None if no table was found.
            where: A description of the table name and catalog that were searched, for error messages.

        """
        if found == self.id:
            return
        actual = f"no {where}" if found is None else f"{where}, whose id is {found}"
        raise TierMismatch(
            f"topic {topic}: expected {self.place}, which contains the topic's history, got {actual}; correct "
            f"tierCatalog and tierTable, or restore access to the catalog. To tier the topic from scratch to another "
            f"table, run {BEGIN_AGAIN}"
        )

    def check_tiered(self, partition: TopicPartition, tiered: TieredPartition | None) -> None:
        """Raise `TierMismatch` if the note contains an end of a topic partition without messages in the table."""
        if tiered is None and partition.index in self.ends:
            raise self._restored_table_fault(partition, "no messages")

    def check_end(self, partition: TopicPartition, tiered: TieredPartition) -> None:
        """Raise `TierMismatch` if the table's end of a topic partition is before the note's end.

        Such a table lacks messages that were tiered. Call this method only if Pulsar no longer has the ledgers of these
        messages. Otherwise, the messages can be read from Pulsar, or tiered again.
        """
        end = self.ends.get(partition.index)
        if end is not None and tiered.end < end:
            raise self._restored_table_fault(partition, f"messages up to {tiered.end}")

    def _restored_table_fault(self, partition: TopicPartition, actual: str) -> TierMismatch:
        return TierMismatch(
            f"{partition}: expected {self.place} to contain messages up to {self.ends[partition.index]}, as before, "
            f"got {actual}, because the table was restored to an earlier state; restore the table's last state, or "
            f"run {BEGIN_AGAIN} to tier the topic from scratch"
        )
