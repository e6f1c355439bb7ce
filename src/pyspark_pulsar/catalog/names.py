"""Conversion of Spark's identifiers of namespaces and tables to Pulsar's names and back, without loss. Pure.

A namespace is `["tenant/namespace"]` or `["tenant", "namespace"]`. A table has the exact local name of its topic.
Non-persistent topics have the prefix `non-persistent://`. Local names contain no slash, so both are unambiguous. `$`
and the word of a system table after a table's name form the name of a system table: `orders$segments`. To keep such
names unambiguous, a run of `$` before such a word is doubled in the names of other tables. So an odd run before such a
word means a system table, and an even run does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, is_name

COLUMNS_TABLE: Final = "columns"
"""The word for the topic's table without later messages. It has the columns of the topic."""
SYSTEM_TABLES: Final = ("segments", "offsets", "subscriptions", "schemas", "tier", COLUMNS_TABLE)

_NON_PERSISTENT: Final = "non-persistent://"
_SUFFIX: Final = re.compile(rf"(?P<before>.*?)(?P<run>\$+)(?P<word>{'|'.join(SYSTEM_TABLES)})", re.DOTALL)
_RUN: Final = re.compile(r"\$*\Z")
_PARTS: Final = 2


@dataclass(frozen=True, slots=True)
class Table:
    """The meaning of a table's name."""

    topic: TopicName
    """The topic. If the table is one partition (`x-partition-3`), this is the partition's own name."""
    system: str | None = None
    """The word of the topic's system table, one of `SYSTEM_TABLES`; None if the table is the topic itself."""

    @property
    def name(self) -> str:
        """Return the name that `parse_table` parses."""
        local = self.topic.local
        if (match := _SUFFIX.fullmatch(local)) is not None:
            local = f"{match['before']}{match['run']}{match['run']}{match['word']}"
        if self.system is not None:
            run = _RUN.search(local)
            local = f"{local}{run[0] if run else ''}${self.system}"
        return local if self.topic.is_persistent else f"{_NON_PERSISTENT}{local}"


def parse_namespace(parts: Sequence[str]) -> Namespace:
    """Parse the name of a namespace.

    Raises:
        TopicNameError: The parts are not a namespace, for example a tenant alone.

    """
    named = parts[0].split("/") if len(parts) == 1 else parts
    if len(named) != _PARTS or not all(named):
        raise TopicNameError(
            f"{'.'.join(f'`{part}`' for part in parts)} is no namespace: expected `tenant/namespace` (one name in "
            f"backticks) or tenant.namespace; correct the name"
        )
    return Namespace.parse("/".join(named))


def tenant_of(parts: Sequence[str]) -> str | None:
    """Return the tenant if `parts` name a tenant alone, or None. A tenant contains namespaces and no tables."""
    return parts[0] if len(parts) == 1 and is_name(parts[0]) else None


def parse_table(parts: Sequence[str], table: str) -> Table:
    """Parse the name of a table.

    Args:
        parts: The parts of the namespace.
        table: The table's name.

    Raises:
        TopicNameError: The name is not valid for a topic.

    """
    namespace = parse_namespace(parts)
    domain, local = "persistent", table
    if table.startswith(_NON_PERSISTENT):
        domain, local = "non-persistent", table.removeprefix(_NON_PERSISTENT)
    local, system = _split_system(local)
    if system is not None:
        local, another = _split_system(local)
        if another is not None:
            raise TopicNameError(
                f"table {table!r}: expected a system table of a topic, got one of a system table; correct the name"
            )
    return Table(TopicName.parse(f"{domain}://{namespace}/{local}"), system)


def _split_system(name: str) -> tuple[str, str | None]:
    """Return a table's name and the word of its system table, or a topic's local name and None."""
    match = _SUFFIX.fullmatch(name)
    if match is None:
        return name, None
    kept = match["before"] + "$" * (len(match["run"]) // 2)
    return (kept, match["word"]) if len(match["run"]) % 2 else (kept + match["word"], None)
