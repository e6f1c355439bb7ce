"""The properties of a table: properties that CREATE TABLE accepts, and properties that describe a topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.catalog.properties import retention
from pyspark_pulsar.catalog.properties.retention import RETENTION_PROPERTIES, Retention
from pyspark_pulsar.catalog.properties.spelling import refuse_misspelling
from pyspark_pulsar.catalog.properties.units import (
    printed_duration,
    printed_retention,
    printed_size,
    threshold_bytes,
    ttl_seconds,
)
from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import CatalogUnsupported, OptionError
from pyspark_pulsar.history.tiering.topic_properties import TIER_PROPERTIES, check_tier_properties
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import split
from pyspark_pulsar.schema.primitive import PRIMITIVES

OWN_PREFIX: Final = "pyspark-pulsar."
KEY_COLUMN_PROPERTY: Final = f"{OWN_PREFIX}key_column"
"""The name of the topic's property that stores the table's property `key_column`."""

READ_ONLY_PREFIX: Final = "pulsar."
FORMAT_PROPERTIES: Final = ("value_format", "key_value_encoding")
KNOWN: Final = (
    "partitions", *FORMAT_PROPERTIES, "key_column", *RETENTION_PROPERTIES, "message_ttl", "compaction_threshold",
)  # fmt: skip
"""The names of properties that this package interprets. Other properties are stored unchanged in the topic."""

_CHECKED_NAMES: Final = (*KNOWN, *TIER_PROPERTIES)

_OPTION: Final = "option."
_UNSUPPORTED: Final = ("location", "external", "is_managed_location")
_MOST_PARTITIONS: Final = 100_000
_FORMATS: Final = {
    SchemaType.AVRO: "avro",
    SchemaType.JSON: "json",
    SchemaType.PROTOBUF: "protobuf",
    SchemaType.PROTOBUF_NATIVE: "protobuf",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
    SchemaType.NONE: "bytes",
}


@dataclass(frozen=True)
class TableProperties:
    """The parsed properties of a CREATE TABLE statement.

    A property that is not set is None. The properties in `own` are stored unchanged in the topic.
    """

    partitions: int | None = None
    value_format: str | None = None
    key_value_encoding: str | None = None
    key_column: str | None = None
    retention: Retention | None = None
    message_ttl_seconds: int | None = None
    compaction_bytes: int | None = None
    own: dict[str, str] = field(default_factory=dict)


def parse_table_properties(properties: Mapping[str, str]) -> TableProperties:
    """Parse the properties of a CREATE TABLE statement.

    Raises:
        OptionError: A value is invalid, or a name is misspelled.
        CatalogUnsupported: The statement sets a property that no table can have.

    """
    stated = {key: value for key, value in properties.items() if not _is_ignored(key, value)}
    for key in stated:
        refuse_reserved(key)
        refuse_misspelled(key)
    check_tier_properties(stated)
    return TableProperties(
        partitions=parse_partitions(stated["partitions"]) if "partitions" in stated else None,
        value_format=_choice(stated, "value_format", ("avro", "json", "protobuf", "bytes", "string")),
        key_value_encoding=_choice(stated, "key_value_encoding", ("inline", "separated")),
        key_column=stated.get("key_column"),
        retention=retention.change_retention(None, stated),
        message_ttl_seconds=ttl_seconds("message_ttl", stated["message_ttl"])
        if "message_ttl" in stated
        else None,
        compaction_bytes=(
            threshold_bytes("compaction_threshold", stated["compaction_threshold"])
            if "compaction_threshold" in stated
            else None
        ),
        own={key: value for key, value in stated.items() if key not in KNOWN},
    )


def refuse_reserved(key: str) -> None:
    """Raise `CatalogUnsupported` if no table can have the property."""
    if key in _UNSUPPORTED:
        raise CatalogUnsupported(
            f"property '{key}': expected a table without this property, because Pulsar stores the messages of a "
            f"topic; remove the property"
        )
    if key.startswith(OWN_PREFIX):
        raise CatalogUnsupported(
            f"property '{key}': expected a name without the prefix {OWN_PREFIX}, which this package reserves; set "
            "key_column instead, or choose another name"
        )


def refuse_misspelled(key: str) -> None:
    """Raise `OptionError` if a property that is to be set has a misspelled name."""
    refuse_misspelling(key, _CHECKED_NAMES)


def parse_partitions(text: str) -> int:
    """Parse the number of partitions.

    Raises:
        OptionError: The text is not a whole number, or the number is too large.

    """
    number = int(text) if text.strip().isascii() and text.strip().isdigit() else -1
    if not 0 <= number <= _MOST_PARTITIONS:
        raise OptionError(
            f"property 'partitions': expected a whole number from 0 (not partitioned) to {_MOST_PARTITIONS}, got "
            f"{text!r}; correct the number"
        )
    return number


def compaction_without_keys(what: str) -> CatalogUnsupported:
    """Return the error for a compaction threshold on a table without keys."""
    return CatalogUnsupported(
        f"{what}: expected a table whose messages have keys, because compaction keeps the last message of each key, "
        "got one without key_column and without separated keys; set key_column too"
    )


def key_column(topic_properties: Mapping[str, str]) -> str | None:
    """Return the name of the key column from a topic's properties; None if the topic has no key column."""
    return topic_properties.get(KEY_COLUMN_PROPERTY) or None


def has_separated_keys(info: SchemaInfo | None, topic: TopicName) -> bool:
    return info is not None and info.type is SchemaType.KEY_VALUE and split(info, topic=str(topic)).separated


def stored_properties(admin: AdminClient, topic: TopicName, partitions: int) -> dict[str, str]:
    """Return the properties of a topic, and the policies that apply to the topic, as properties for CREATE TABLE.

    Raises:
        PermissionDenied: The role is not allowed to see the properties or policies.

    """
    whole = topic.without_partition() if admin.topics.partitions(topic.without_partition()) else topic
    own = admin.topics.properties(whole)
    properties = {"partitions": str(partitions)}
    column = key_column(own)
    if column is not None:
        properties["key_column"] = column
    kept = retention.parse_policy(admin.policies.applied(whole, "retention"))
    if kept is not None:
        properties |= printed_retention(kept.minutes, kept.megabytes)
    ttl = admin.policies.applied(whole, "messageTTL")
    if ttl:
        properties["message_ttl"] = printed_duration(int(ttl))
    threshold = admin.policies.applied(whole, "compactionThreshold")
    if threshold:
        properties["compaction_threshold"] = printed_size(int(threshold))
    return properties | {key: value for key, value in own.items() if not key.startswith(OWN_PREFIX)}


def format_properties(info: SchemaInfo | None) -> dict[str, str]:
    """Return the properties with which CREATE TABLE would register a schema of the type of `info`.

    A schema of a primitive type needs no property, because the type of its column determines the type of the schema.
    """
    if info is None:
        return {"value_format": "bytes"}
    if info.type is not SchemaType.KEY_VALUE:
        return {"value_format": _FORMATS[info.type]} if info.type in _FORMATS else {}
    pair = split(info, topic=info.name)
    records = [side.type for side in (pair.value, pair.key) if side.type not in PRIMITIVES]
    formats = {"value_format": _FORMATS[records[0]]} if records and records[0] in _FORMATS else {}
    return {"key_value_encoding": "separated" if pair.separated else "inline", **formats}


def _is_ignored(key: str, value: str) -> bool:
    """Return whether CREATE TABLE ignores a property.

    CREATE TABLE ignores properties that Spark adds, and read-only properties from SHOW CREATE TABLE. Spark passes each
    option of the statement twice: under its own name, and with the prefix `option.`. The copy with the prefix is
    ignored too.
    """
    if key.startswith(_OPTION):
        if key.removeprefix(_OPTION) not in KNOWN:
            name = key.removeprefix(_OPTION)
            raise CatalogUnsupported(
                f"option '{name}': expected one of the table options {', '.join(KNOWN)}, got another option; set the "
                "option on the query"
            )
        return True
    if key == "provider":
        if value.strip().lower() != "pulsar":
            raise CatalogUnsupported(
                f"USING {value}: expected pulsar or no format, got another format; remove USING, or add "
                'format("pulsar") to saveAsTable or toTable, whose default is another format'
            )
        return True
    is_false = key in ("external", "is_managed_location") and value.strip().lower() == "false"
    return is_false or key == "owner" or key.startswith(READ_ONLY_PREFIX)


def _choice(properties: Mapping[str, str], key: str, choices: tuple[str, ...]) -> str | None:
    if key not in properties:
        return None
    value = properties[key].strip().lower()
    if value not in choices:
        raise OptionError(
            f"property '{key}': expected one of {', '.join(choices)}, got {properties[key]!r}; correct the value"
        )
    return value
