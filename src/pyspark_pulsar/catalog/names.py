"""Spark's identifiers of namespaces and tables to Pulsar's names, and back, without a loss. Pure.

A namespace is `["tenant/namespace"]` or `["tenant", "namespace"]`. A table has the local name of its topic, letter by
letter, with `non-persistent://` before it where the topic is one. No local name has a slash, so both are unambiguous.
`$` and the word of a system table behind a table's name make the name of one: `orders$segments`. Where that could be
mistaken, a run of `$` is doubled: an odd run before such a word makes a system table, an even one does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, is_name

COLUMNS_TABLE: Final = "columns"
"""What the topic's table holds, and nothing behind it; its columns are the topic's."""
SYSTEM_TABLES: Final = ("segments", "offsets", "subscriptions", "schemas", "tier", COLUMNS_TABLE)

_NON_PERSISTENT: Final = "non-persistent://"
_SUFFIX: Final = re.compile(rf"(?P<before>.*?)(?P<run>\$+)(?P<word>{'|'.join(SYSTEM_TABLES)})", re.DOTALL)
_RUN: Final = re.compile(r"\$*\Z")
_PARTS: Final = 2


@dataclass(frozen=True, slots=True)
class Table:
    """What the name of a table stands for."""

    topic: TopicName
    """Of a table that is one partition (`x-partition-3`) the partition's own name."""
    system: str | None = None
    """Which of `SYSTEM_TABLES` of the topic; None for the topic itself."""

    @property
    def name(self) -> str:
        """As `parse_table` takes it."""
        local = self.topic.local
        if (match := _SUFFIX.fullmatch(local)) is not None:
            local = f"{match['before']}{match['run']}{match['run']}{match['word']}"
        if self.system is not None:
            run = _RUN.search(local)
            local = f"{local}{run[0] if run else ''}${self.system}"
        return local if self.topic.is_persistent else f"{_NON_PERSISTENT}{local}"


def parse_namespace(parts: Sequence[str]) -> Namespace:
    """Raises `TopicNameError` for what can be no namespace, a tenant alone among it."""
    named = parts[0].split("/") if len(parts) == 1 else parts
    if len(named) != _PARTS or not all(named):
        raise TopicNameError(
            f"{'.'.join(f'`{part}`' for part in parts)} is no namespace: expected `tenant/namespace` (one name in "
            f"backticks) or tenant.namespace; check the name"
        )
    return Namespace.parse("/".join(named))


def tenant_of(parts: Sequence[str]) -> str | None:
    """The tenant where `parts` name a tenant alone, which holds namespaces and no tables; else None."""
    return parts[0] if len(parts) == 1 and is_name(parts[0]) else None


def parse_table(parts: Sequence[str], table: str) -> Table:
    """`parts`: of the namespace. Raises `TopicNameError` for what can be no topic."""
    namespace = parse_namespace(parts)
    domain, local = "persistent", table
    if table.startswith(_NON_PERSISTENT):
        domain, local = "non-persistent", table.removeprefix(_NON_PERSISTENT)
    local, system = _apart(local)
    if system is not None:
        local, another = _apart(local)
        if another is not None:
            raise TopicNameError(
                f"table {table!r}: expected a system table of a topic, got one of a system table"
            )
    return Table(TopicName.parse(f"{domain}://{namespace}/{local}"), system)


def _apart(name: str) -> tuple[str, str | None]:
    """The name of a table and the word of a system table of it; or the local name of a topic, and None."""
    match = _SUFFIX.fullmatch(name)
    if match is None:
        return name, None
    kept = match["before"] + "$" * (len(match["run"]) // 2)
    return (kept, match["word"]) if len(match["run"]) % 2 else (kept + match["word"], None)
