"""The properties of a table: what CREATE TABLE may give, and what is shown of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark_pulsar.catalog.properties import retention
from pyspark_pulsar.catalog.properties.retention import RETENTION_PROPERTIES, Retention
from pyspark_pulsar.catalog.properties.spelling import refuse_slip
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
"""The topic's property in which `key_column` is kept."""

READ_ONLY_PREFIX: Final = "pulsar."
FORMAT_PROPERTIES: Final = ("value_format", "key_value_encoding")
KNOWN: Final = (
    "partitions", *FORMAT_PROPERTIES, "key_column", *RETENTION_PROPERTIES, "message_ttl", "compaction_threshold",
)  # fmt: skip
"""Properties that are not simply kept as the topic's own."""

_SPELLED: Final = (*KNOWN, *TIER_PROPERTIES)

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
    """The properties of a CREATE TABLE, read. None where it does not say; `own` are those that the topic just keeps."""

    partitions: int | None = None
    value_format: str | None = None
    key_value_encoding: str | None = None
    key_column: str | None = None
    retention: Retention | None = None
    message_ttl_seconds: int | None = None
    compaction_bytes: int | None = None
    own: dict[str, str] = field(default_factory=dict)


def parse_table_properties(properties: Mapping[str, str]) -> TableProperties:
    """Raises OptionError for values that are none, `CatalogUnsupported` for what a table cannot have."""
    stated = {key: value for key, value in properties.items() if not _is_noise(key, value)}
    for key in stated:
        refuse_reserved(key)
        refuse_misspelled(key)
    check_tier_properties(stated)
    return TableProperties(
        partitions=parse_partitions(stated["partitions"]) if "partitions" in stated else None,
        value_format=_choice(stated, "value_format", ("avro", "json", "protobuf", "bytes", "string")),
        key_value_encoding=_choice(stated, "key_value_encoding", ("inline", "separated")),
        key_column=stated.get("key_column"),
        retention=retention.changed(None, stated),
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
    """Raises `CatalogUnsupported` for a property that no table has."""
    if key in _UNSUPPORTED:
        raise CatalogUnsupported(
            f"property '{key}': expected none, since Pulsar itself keeps the messages of a topic, got one; leave it out"
        )
    if key.startswith(OWN_PREFIX):
        raise CatalogUnsupported(
            f"property '{key}': expected a name that does not begin with {OWN_PREFIX}, which this package keeps for "
            "itself; set key_column instead, or choose another name"
        )


def refuse_misspelled(key: str) -> None:
    """Raises OptionError for a slip of the pen. Not to be asked of a property that is unset: it may be there."""
    refuse_slip(key, _SPELLED)


def parse_partitions(text: str) -> int:
    """Raises OptionError unless it is a whole number that a topic may have."""
    number = int(text) if text.strip().isascii() and text.strip().isdigit() else -1
    if not 0 <= number <= _MOST_PARTITIONS:
        raise OptionError(
            f"property 'partitions': expected a whole number from 0 (not partitioned) to {_MOST_PARTITIONS}, got "
            f"{text!r}; correct it"
        )
    return number


def needs_keys(what: str) -> CatalogUnsupported:
    """Why a compaction threshold is refused."""
    return CatalogUnsupported(
        f"{what}: expected a table whose messages have keys, which compaction keeps the last message of, got one "
        "without key_column and without separated keys; set key_column too"
    )


def key_column(topic_properties: Mapping[str, str]) -> str | None:
    """The value column that is also the key, of a topic with these properties."""
    return topic_properties.get(KEY_COLUMN_PROPERTY) or None


def has_separated_keys(info: SchemaInfo | None, topic: TopicName) -> bool:
    return info is not None and info.type is SchemaType.KEY_VALUE and split(info, topic=str(topic)).separated


def stored_properties(admin: AdminClient, topic: TopicName, partitions: int) -> dict[str, str]:
    """What is set for the topic, or applies to it, as properties of a table: CREATE TABLE takes them. Raises
    `PermissionDenied` for a role that may not see them."""
    whole = topic.without_partition() if admin.topics.partitions(topic.without_partition()) else topic
    own = admin.topics.properties(whole)
    properties = {"partitions": str(partitions)}
    column = key_column(own)
    if column is not None:
        properties["key_column"] = column
    kept = retention.of_policy(admin.policies.applied(whole, "retention"))
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
    """What makes CREATE TABLE register a schema of the same type; nothing for a primitive, whose column says it."""
    if info is None:
        return {"value_format": "bytes"}
    if info.type is not SchemaType.KEY_VALUE:
        return {"value_format": _FORMATS[info.type]} if info.type in _FORMATS else {}
    pair = split(info, topic=info.name)
    records = [side.type for side in (pair.value, pair.key) if side.type not in PRIMITIVES]
    formats = {"value_format": _FORMATS[records[0]]} if records and records[0] in _FORMATS else {}
    return {"key_value_encoding": "separated" if pair.separated else "inline", **formats}


def _is_noise(key: str, value: str) -> bool:
    """What Spark adds, what SHOW CREATE TABLE shows and nobody sets, and options, which are given a second time."""
    if key.startswith(_OPTION):
        if key.removeprefix(_OPTION) not in KNOWN:
            name = key.removeprefix(_OPTION)
            raise CatalogUnsupported(
                f"option '{name}': expected options of a table to be among {', '.join(KNOWN)}, got another; give it to "
                "the query"
            )
        return True
    if key == "provider":
        if value.strip().lower() != "pulsar":
            raise CatalogUnsupported(
                f"USING {value}: expected pulsar or nothing, got another, which saveAsTable and toTable take by "
                'default; say format("pulsar"), or make the table first'
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
            f"property '{key}': expected one of {', '.join(choices)}, got {properties[key]!r}; correct it"
        )
    return value
