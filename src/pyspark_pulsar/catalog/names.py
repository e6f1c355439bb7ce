"""Lossless conversion of Spark's namespace and table identifiers to Pulsar's names, and back. No I/O.

A namespace is `["tenant/namespace"]` or `["tenant", "namespace"]`. The name of a table is the local name of its topic.
The table name of a non-persistent topic has the prefix `non-persistent://`. Local names contain no slash, so the prefix
is unambiguous.

The name of a system table is a table's name, `$` and the word of the system table: `orders$segments`. A topic can have
a name of this form too. If the name of a topic ends with `$` and the word of a system table, the table's name doubles
each `$` before the word. The name of a system table also doubles each `$` at the end of the table's name. An odd number
of `$` before the word therefore means a system table, and an even number means a topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import Namespace, TopicName, is_name

COLUMNS_TABLE: Final = "columns"
"""The word of the system table that returns only the rows of the topic's Iceberg or Delta table.

This system table has the columns of the topic. Messages after the end of the Iceberg or Delta table are left out.
"""
SYSTEM_TABLES: Final = ("segments", "offsets", "subscriptions", "schemas", "tier", COLUMNS_TABLE)

_NON_PERSISTENT: Final = "non-persistent://"
_SUFFIX: Final = re.compile(rf"(?P<before>.*?)(?P<run>\$+)(?P<word>{'|'.join(SYSTEM_TABLES)})", re.DOTALL)
_RUN: Final = re.compile(r"\$*\Z")
_PARTS: Final = 2


@dataclass(frozen=True, slots=True)
class Table:
    """The topic or system table that the name of a table means."""

    topic: TopicName
    """The topic. If the table is one partition, the name has the partition's suffix, as in `x-partition-3`."""
    system: str | None = None
    """The word of the system table, one of `SYSTEM_TABLES`; None if the table is the topic itself."""

    @property
    def name(self) -> str:
        """Return the name of the table, which `parse_table` parses."""
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
        TopicNameError: The parts are not the name of a namespace. For example, `parts` contains only a tenant.

    """
    named = parts[0].split("/") if len(parts) == 1 else parts
    if len(named) != _PARTS or not all(named):
        raise TopicNameError(
            f"{'.'.join(f'`{part}`' for part in parts)} is not a namespace: expected `tenant/namespace` (one name in "
            f"backticks) or tenant.namespace; correct the name"
        )
    return Namespace.parse("/".join(named))


def tenant_of(parts: Sequence[str]) -> str | None:
    """Return the tenant if `parts` is the name of a tenant, otherwise None."""
    return parts[0] if len(parts) == 1 and is_name(parts[0]) else None


def parse_table(parts: Sequence[str], table: str) -> Table:
    """Parse the name of a table.

    Args:
        parts: The parts of the namespace.
        table: The table's name.

    Raises:
        TopicNameError: The name is not a valid name of a topic.

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
                f"table {table!r}: expected a system table of a topic, got a system table of a system "
                f"table; correct the name"
            )
    return Table(TopicName.parse(f"{domain}://{namespace}/{local}"), system)


def _split_system(name: str) -> tuple[str, str | None]:
    """Split the name of a table.

    Returns:
        The name of the topic's table and the word of the system table, or the local name of the topic and None.

    """
    match = _SUFFIX.fullmatch(name)
    if match is None:
        return name, None
    kept = match["before"] + "$" * (len(match["run"]) // 2)
    return (kept, match["word"]) if len(match["run"]) % 2 else (kept + match["word"], None)
