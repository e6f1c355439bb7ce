"""The note in which a topic says where its table is. Pure.

The note is a property of the topic, `pyspark-pulsar.tier`. Pulsar deletes it with the topic, so a topic that is made
again has none:

    {"version": 1, "table": "public_default.orders", "id": "0a1b...", "catalog": {"type": "sql", "uri": "..."},
     "ends": {"0": "23:0:0", "1": "31:0:0"}}

`id`: the table's identity, which no other table has. `catalog`: the settings that say where the table was when it was
written last; for messages only, without secrets. `ends`: by index of topic partition (-1 for a topic without
partitions), up to where (exclusive) it was tiered. The table may be ahead of that, and is never behind it unless it
went back.

Whoever tiers writes the note before the table's first commit. Readers compare it with the table that they find, so a
table that is missing, is another one or went back is an error and not an empty history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.errors import ProtocolError, TierMismatch
from pyspark_pulsar.history.columnar.positions import TieredPartition
from pyspark_pulsar.history.columnar.redaction import redacted, secret_values
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicName, TopicPartition

TIER_NOTE: Final = "pyspark-pulsar.tier"
"""The topic's property."""
BEGIN_AGAIN: Final = "pyspark-pulsar tier forget"
"""The command after which a topic is tiered from scratch."""

_VERSION: Final = 1
_SHOWN: Final = ("type", "name", "uri", "warehouse", "path")
"""Settings of a catalog that say where it is."""
_USER: Final = re.compile(r"://(?:[^/]*:.*@|[^/@]*@)")
_QUERY: Final = re.compile(r"[?#].*")


def catalog_place(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a catalog that say where it is, without users, passwords and queries in URLs."""
    secrets = secret_values(settings)
    return {
        key: redacted(_QUERY.sub("", _USER.sub("://", settings[key])), secrets)
        for key in _SHOWN
        if key in settings
    }


@dataclass(frozen=True, slots=True)
class TierNote:
    """Where a topic's table is, and up to where it was tiered."""

    table: str
    """The table's name in the catalog."""
    id: str
    catalog: Mapping[str, str] = field(default_factory=dict)
    """As `catalog_place` returns it."""
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
        """Raises `ProtocolError` for a note of a later version or of somebody else."""
        try:
            document = json.loads(text)
            if document["version"] == _VERSION:
                ends = {int(index): Position.parse(end) for index, end in document["ends"].items()}
                return cls(document["table"], document["id"], dict(document["catalog"]), ends)
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise ProtocolError(
                f"topic {topic}, property {TIER_NOTE}: expected a note as pyspark-pulsar writes it, got {text[:200]!r} "
                f"({fault!r}); remove it ({BEGIN_AGAIN})"
            ) from None
        raise ProtocolError(
            f"topic {topic}, property {TIER_NOTE}: expected a note in version {_VERSION}, got {document['version']}; "
            f"use the version of pyspark-pulsar that has written it"
        )

    def of_table(self, table: ColumnarTable, name: str, catalog: Mapping[str, str]) -> TierNote:
        """Return what a note says when the topic is tiered to this table. An end never goes back."""
        ends = dict(self.ends) if self.id == table.id else {}
        for partition, tiered in table.positions.partitions.items():
            ends[partition.index] = max(tiered.end, ends.get(partition.index, tiered.end))
        return TierNote(name, table.id, catalog, ends)

    @property
    def place(self) -> str:
        """The table and its catalog, as errors show them."""
        return f"table {self.table} (id {self.id}) of catalog {json.dumps(dict(self.catalog))}"

    def check_table(self, topic: TopicName, found: str | None, where: str) -> None:
        """Raise `TierMismatch` unless the table that was found is the one of the note.

        Args:
            topic: The topic, whose note this is.
            found: The identity of the table that was found; None for no table.
            where: The place where the table was looked for, as errors show it.

        """
        if found == self.id:
            return
        got = f"no table at {where}" if found is None else f"{where}, whose id is {found}"
        raise TierMismatch(
            f"topic {topic}: expected {self.place}, which has the topic's history, got {got}; correct tierCatalog and "
            f"tierTable, or make the catalog's place reachable. If the history is to begin again at another place, "
            f"run {BEGIN_AGAIN}"
        )

    def check_tiered(self, partition: TopicPartition, tiered: TieredPartition | None) -> None:
        """Raise `TierMismatch` where the table has lost a topic partition that it had."""
        if tiered is None and partition.index in self.ends:
            raise self._went_back(partition, "nothing of it")

    def check_end(self, partition: TopicPartition, tiered: TieredPartition) -> None:
        """Raise `TierMismatch` where the table holds less of a topic partition than it did. For a topic partition that
        no longer has what is missing: otherwise its ledgers are read, or tiered once more."""
        end = self.ends.get(partition.index)
        if end is not None and tiered.end < end:
            raise self._went_back(partition, f"messages up to {tiered.end}")

    def _went_back(self, partition: TopicPartition, got: str) -> TierMismatch:
        return TierMismatch(
            f"{partition}: expected {self.place} to hold messages up to {self.ends[partition.index]}, as it did, got "
            f"{got}: the table was restored to an earlier state. Restore it to its last state. If the history is to "
            f"begin again, run {BEGIN_AGAIN}"
        )
