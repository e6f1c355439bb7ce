"""ALTER TABLE, which registers all changed columns as one new schema version, and then sets properties and policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.json_columns import arrow_column
from pyspark_pulsar.catalog.properties import retention
from pyspark_pulsar.catalog.properties.retention import RETENTION_PROPERTIES, apply_retention, keep_messages
from pyspark_pulsar.catalog.properties.table_properties import (
    FORMAT_PROPERTIES,
    KEY_COLUMN_PROPERTY,
    KNOWN,
    READ_ONLY_PREFIX,
    compaction_without_keys,
    has_separated_keys,
    key_column,
    parse_partitions,
    refuse_misspelled,
    refuse_reserved,
)
from pyspark_pulsar.catalog.properties.units import threshold_bytes, ttl_seconds
from pyspark_pulsar.catalog.statements.drop_table import refuse_unchangeable
from pyspark_pulsar.catalog.statements.evolution import EditedRecord
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CatalogUnsupported, SchemaError, TopicNotFoundError
from pyspark_pulsar.history.columnar.tier_note import TIER_NOTE
from pyspark_pulsar.history.tiering.topic_properties import check_tier_properties
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import VERSION_BYTES, SchemaInfo, SchemaType
from pyspark_pulsar.schema.payload import columns_of, payload_schema
from pyspark_pulsar.schema.primitive import RECORD_TYPES
from pyspark_pulsar.write.key_column import keyed_columns, refuse_separated

TableChange = Mapping[str, Any]
"""The JSON of Spark's `TableChange` in the catalog's protocol."""

_TTL, _THRESHOLD, _KEY, _PARTITIONS = "message_ttl", "compaction_threshold", "key_column", "partitions"
_FIXED: Final = (*FORMAT_PROPERTIES, "provider", "owner")


@dataclass
class _Alteration:
    """The changes of one statement: all column changes in order, and the last change of each property."""

    columns: list[TableChange] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    unset: set[str] = field(default_factory=set)


def alter_table(admin: AdminClient, topic: TopicName, changes: Sequence[TableChange]) -> None:
    """Alter a table. All checks precede the first change.

    The new schema is registered before the other changes, because the broker may refuse the schema.

    Raises:
        TopicNotFoundError: The topic does not exist.
        SchemaError: The new schema is invalid, or another statement changed the schema at the same time.
        OptionError: The value of a property is invalid.
        CatalogUnsupported: Tables of topics do not support the change.

    """
    partitions = admin.topics.partitions(topic)
    if partitions is None:
        raise TopicNotFoundError(f"topic {topic}: expected a topic that exists, got none; correct the name")
    refuse_unchangeable(admin, topic, "changed")
    if not topic.is_persistent:
        raise CatalogUnsupported(
            f"topic {topic}: expected a persistent topic, got a non-persistent one, which stores neither messages nor "
            "properties; create a persistent topic"
        )
    alteration = _sort_changes(topic, changes)
    check_tier_properties(alteration.properties)
    info = admin.schemas.latest(topic)
    own = admin.topics.properties(topic)
    record = _edit_record(topic, info, alteration.columns)
    raised_to = partitions
    if _PARTITIONS in alteration.properties:
        raised_to = parse_partitions(alteration.properties[_PARTITIONS])
        _check_partitions(topic, partitions, raised_to)
    _check_key(topic, record, info, alteration, key_column(own))
    _check_compaction(admin, topic, info, alteration, key_column(own))
    policies = _policies(admin, topic, alteration)
    if record is not None and info is not None:
        _register(admin, topic, info, record)
    for apply in policies:
        apply()
    # Pulsar cannot remove partitions. Partitions are therefore added only after all steps that the server can refuse.
    if raised_to > partitions:
        admin.topics.set_partitions(topic, raised_to)
    _set_own(admin, topic, alteration, own)


def _sort_changes(topic: TopicName, changes: Sequence[TableChange]) -> _Alteration:
    alteration = _Alteration()
    for change in changes:
        kind = change["change"]
        if kind == "set":
            key = _changeable(topic, change["property"])
            refuse_misspelled(key)
            alteration.properties[key] = str(change["value"])
            alteration.unset.discard(key)
        elif kind == "remove":
            # A user removes the property that names the topic's table, in order to tier the topic again from the
            # beginning.
            named = change["property"]
            key = named if named == TIER_NOTE else _changeable(topic, named)
            if key == _PARTITIONS:
                raise _fixed_property_fault(topic, key)
            alteration.properties.pop(key, None)
            alteration.unset.add(key)
        elif kind in _EDITS:
            alteration.columns.append(change)
        else:
            raise CatalogUnsupported(
                f"table of {topic}: expected changes of columns and properties, got {change.get('text', kind)}, which "
                "topics do not support; remove the change"
            )
    return alteration


def _changeable(topic: TopicName, key: str) -> str:
    if key in _FIXED or key.startswith(READ_ONLY_PREFIX):
        raise _fixed_property_fault(topic, key)
    refuse_reserved(key)
    return key


def _fixed_property_fault(topic: TopicName, key: str) -> CatalogUnsupported:
    return CatalogUnsupported(
        f"table of {topic}, property '{key}': expected a property that can be changed, got one that is read-only, or "
        "fixed when a topic is created; keep its value, or create another table"
    )


def _add(record: EditedRecord, change: TableChange) -> None:
    path = change["column"]
    made = arrow_column(path[-1], change["type"], nullable=bool(change.get("nullable", True)))
    record.add(path, made, change.get("comment"), change.get("position"))


def _set_nullable(record: EditedRecord, change: TableChange) -> None:
    path = change["column"]
    if change["nullable"]:
        record.allow_null(path)
    elif record.is_nullable(path):
        raise CatalogUnsupported(
            f"column {'.'.join(path)}: expected a nullable column, got SET NOT NULL, although existing messages can "
            "contain null; filter null values in the query"
        )


def _rename(_: EditedRecord, change: TableChange) -> None:
    name = ".".join(change["column"])
    raise CatalogUnsupported(
        f"column {name}: expected its name to stay, got {change['to']!r}, because existing messages would lose their "
        f"values of the column; add a column {change['to']}, and drop {name} when no query reads it any more"
    )


_EDITS: Final[Mapping[str, Callable[[EditedRecord, TableChange], None]]] = {
    "add": _add,
    "drop": lambda record, change: record.drop(
        change["column"], if_exists=bool(change.get("if_exists", False))
    ),
    "type": lambda record, change: record.retype(
        change["column"], arrow_column(change["column"][-1], change["type"]).type
    ),
    "rename": _rename,
    "nullable": _set_nullable,
    "comment": lambda record, change: record.comment(change["column"], change.get("comment")),
}


def _edit_record(
    topic: TopicName, info: SchemaInfo | None, changes: Sequence[TableChange]
) -> EditedRecord | None:
    """Return the changed record after a check of the record; None if the statement changes no columns."""
    if not changes:
        return None
    if info is None or info.type not in RECORD_TYPES:
        kind = "no schema" if info is None else f"a schema of type {info.type.name}"
        raise CatalogUnsupported(
            f"topic {topic}: expected an AVRO or JSON record, whose fields can be changed one by one, got {kind}; "
            "register another version with a Pulsar client, or create another table"
        )
    of_json = info.type is SchemaType.JSON
    record = EditedRecord(json.loads(info.text), where=f"topic {topic}", of_json=of_json)
    for change in changes:
        _EDITS[change["change"]](record, change)
    record.text()
    return record


def _register(admin: AdminClient, topic: TopicName, info: SchemaInfo, record: EditedRecord) -> None:
    """Register the record as the newest schema version.

    If a schema differs from an older version only by comments, the registry returns the older version and adds no new
    version. In this case, this function adds an attribute that makes the schema different, and registers the schema
    again.

    Raises:
        SchemaError: Another statement registered a schema at the same time, and this call has replaced that schema. The
            registry has no conditional updates, so this call cannot prevent the conflict.

    """
    if record.text() == json.dumps(json.loads(info.text), separators=(",", ":"), ensure_ascii=False):
        return
    newest = int.from_bytes(info.version or bytes(VERSION_BYTES), "big", signed=True)
    new = replace(info, document=record.text().encode(), version=None)
    made = admin.schemas.register(topic, new)
    if made <= newest:
        record.revise(newest + 1)
        made = admin.schemas.register(topic, replace(new, document=record.text().encode()))
    is_count = len(info.version or bytes(VERSION_BYTES)) == VERSION_BYTES
    if is_count and made > newest + 1:
        raise SchemaError(
            f"topic {topic}: expected version {newest + 1} of its schema to be this change, got version {made}. "
            "Another statement changed the schema at the same time, and the newest version lacks its changes; compare "
            "the table with both statements, and repeat the missing changes"
        )


def _check_partitions(topic: TopicName, now: int, count: int) -> None:
    if count == now:
        return
    if now == 0 or count < now:
        unpartitioned = "0, because the topic is not partitioned"
        expected = unpartitioned if now == 0 else f"at least {now}, because Pulsar never removes partitions"
        raise CatalogUnsupported(
            f"table of {topic}, property 'partitions': expected {expected}, got {count}; create "
            f"another table and copy the rows"
        )


def _check_key(
    topic: TopicName,
    record: EditedRecord | None,
    info: SchemaInfo | None,
    alteration: _Alteration,
    now: str | None,
) -> None:
    column = alteration.properties.get(_KEY)
    if column is not None:
        refuse_separated(info, column, str(topic))
        after = None if record is None or info is None else replace(info, document=record.text().encode())
        keyed_columns(_value_columns(topic, after or info), column)
        return
    if (
        now is not None
        and _KEY not in alteration.unset
        and record is not None
        and now not in record.columns()
    ):
        raise CatalogUnsupported(
            f"table of {topic}: expected to keep column {now}, the key of its messages, got DROP; unset the property "
            "key_column first"
        )


def _value_columns(topic: TopicName, info: SchemaInfo | None) -> pa.Schema:
    plain = info or SchemaInfo(topic.local, SchemaType.NONE)
    return columns_of(payload_schema(plain, topic=str(topic)))


def _check_compaction(
    admin: AdminClient,
    topic: TopicName,
    info: SchemaInfo | None,
    alteration: _Alteration,
    now: str | None,
) -> None:
    has_key = _KEY in alteration.properties or (now is not None and _KEY not in alteration.unset)
    if has_key or has_separated_keys(info, topic):
        return
    if _THRESHOLD in alteration.properties and threshold_bytes(_THRESHOLD, alteration.properties[_THRESHOLD]):
        raise compaction_without_keys(f"table of {topic}, property '{_THRESHOLD}'")
    if _KEY not in alteration.unset or {_THRESHOLD} & {
        *alteration.properties,
        *alteration.unset,
    }:
        return
    if admin.policies.own(topic, "compactionThreshold"):
        raise compaction_without_keys(f"table of {topic}, which has a compaction_threshold")


def _policies(admin: AdminClient, topic: TopicName, alteration: _Alteration) -> list[Callable[[], None]]:
    """Parse the values of the changed policies, and return functions that apply the changes."""
    changes: list[Callable[[], None]] = []
    if set(RETENTION_PROPERTIES) & {*alteration.properties, *alteration.unset}:
        before = retention.parse_policy(admin.policies.own(topic, "retention"))
        kept = retention.change_retention(before, alteration.properties, alteration.unset)
        changes.append(lambda: apply_retention(admin, topic, kept))
        if kept is None:
            changes.append(lambda: keep_messages(admin, topic))
    if _TTL in alteration.properties:
        seconds = ttl_seconds(_TTL, alteration.properties[_TTL])
        changes.append(lambda: admin.policies.set_message_ttl(topic, seconds))
    elif _TTL in alteration.unset:
        changes.append(lambda: admin.policies.remove_message_ttl(topic))
    if _THRESHOLD in alteration.properties:
        size = threshold_bytes(_THRESHOLD, alteration.properties[_THRESHOLD])
        changes.append(lambda: admin.policies.set_compaction_threshold(topic, size))
    elif _THRESHOLD in alteration.unset:
        changes.append(lambda: admin.policies.remove_compaction_threshold(topic))
    return changes


def _set_own(admin: AdminClient, topic: TopicName, alteration: _Alteration, own: Mapping[str, str]) -> None:
    kept = {key: value for key, value in alteration.properties.items() if key not in KNOWN}
    if _KEY in alteration.properties:
        kept[KEY_COLUMN_PROPERTY] = alteration.properties[_KEY]
    if kept:
        admin.topics.set_properties(topic, kept)
    removed = {KEY_COLUMN_PROPERTY if key == _KEY else key for key in alteration.unset}
    for key in sorted(removed & own.keys()):
        admin.topics.remove_property(topic, key)
