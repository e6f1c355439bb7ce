"""The settings `spark.sql.catalog.<name>.*` of a catalog, which are checked when the catalog's process starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark_pulsar.catalog.names import parse_namespace
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import Namespace, TopicName
from pyspark_pulsar.options import ConnectionOptions, ReadOptions, WriteOptions, option_fields, parse_options
from pyspark_pulsar.options.parsers import names, topic_text, yes_or_no
from pyspark_pulsar.options.unknown_options import unknown_options

DEFAULT_NAMESPACE: Final = "public/default"

# `python` names the interpreter with which the JVM starts the process.
_CATALOG_SETTINGS: Final = ("defaultNamespace", "tenants", "systemTopics", "python")
# Fields whose options have a different value for each table.
_TABLE_FIELDS: Final = frozenset({"topic", "topics", "topics_pattern", "columns", "key_column"})
_ANY_TOPIC: Final = "any"


@dataclass(frozen=True, kw_only=True)
class CatalogSettings:
    """The parsed settings of one catalog in a session."""

    default_namespace: Namespace
    tenants: tuple[str, ...] | None
    """The tenants whose namespaces are listed; None to list all tenants that the role is allowed to list."""
    system_topics: bool
    """True if lists of topics and namespaces contain names that Pulsar reserves for itself."""
    connection: ReadOptions
    """The parsed read options for all tables. The value of `topic` is a placeholder."""
    write: WriteOptions
    """The parsed write options for all tables. The value of `topic` is None."""
    read_texts: Mapping[str, str] = field(repr=False)
    """The read options as texts, including secrets."""
    write_texts: Mapping[str, str] = field(repr=False)

    def read_options(self, topic: TopicName) -> dict[str, str]:
        """Return the options with which `spark.read.format("pulsar")` reads a topic."""
        return {**self.read_texts, "topic": topic_text(str(topic))}

    def write_options(self, topic: TopicName, key_column: str | None) -> dict[str, str]:
        """Return the options with which `df.write.format("pulsar")` writes to a topic."""
        texts = {**self.write_texts, "topic": topic_text(str(topic))}
        if key_column is not None:
            # The setting `keyValueEncoding` applies to new tables. In a table with a key column, the encoding is fixed.
            texts.pop("keyValueEncoding", None)
            texts["keyColumn"] = key_column
        return texts


def parse_settings(catalog: str, settings: Mapping[str, str]) -> CatalogSettings:
    """Parse the settings of a catalog.

    Args:
        catalog: The catalog's name.
        settings: A map from keys without `spark.sql.catalog.<name>.` to values. The case of keys is ignored.

    Raises:
        OptionError: A setting is unknown or invalid. The error text names the setting.

    """
    try:
        return _parse(settings)
    except OptionError as fault:
        raise OptionError(f"catalog {catalog} (settings spark.sql.catalog.{catalog}.*): {fault}") from None


def _parse(settings: Mapping[str, str]) -> CatalogSettings:
    of_catalog, read, write = _split_by_scope(settings)
    system_topics = of_catalog.get("systemTopics", "false")
    tenants = of_catalog.get("tenants")
    return CatalogSettings(
        default_namespace=parse_namespace([of_catalog.get("defaultNamespace", DEFAULT_NAMESPACE)]),
        tenants=None if tenants is None else _parse_setting("tenants", names, tenants),
        system_topics=_parse_setting("systemTopics", yes_or_no, system_topics),
        connection=parse_options(ReadOptions, {**read, "topic": _ANY_TOPIC}),
        write=parse_options(WriteOptions, write),
        read_texts=read,
        write_texts=write,
    )


def _split_by_scope(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Split the settings into the catalog's settings, the read options and the write options.

    An alias is replaced by the key of its option.
    """
    own = {key.lower(): key for key in _CATALOG_SETTINGS}
    reading, writing = _keys(ReadOptions), _keys(WriteOptions)
    by_scope: tuple[dict[str, str], dict[str, str], dict[str, str]] = ({}, {}, {})
    first: dict[str, str] = {}
    for key, text in settings.items():
        names = [scope.get(key.lower()) for scope in (own, reading, writing)]
        if not any(names):
            raise OptionError(_unknown(key, [*own.values(), *reading.values(), *writing.values()]))
        canonical = next(name for name in names if name)
        if canonical in first:
            raise OptionError(
                f"settings {first[canonical]!r} and {key!r}: expected one of them, got both, which mean the same; "
                f"remove one"
            )
        first[canonical] = key
        for values, name in zip(by_scope, names, strict=True):
            if name is not None:
                values[name] = str(text)
    return by_scope


def _keys(scope: type[ConnectionOptions]) -> dict[str, str]:
    """Map each option key and alias, in lowercase, to the option's key."""
    return {
        key.lower(): option.key
        for name, option in option_fields(scope).items()
        if name not in _TABLE_FIELDS
        for key in (option.key, *option.aliases)
    }


def _parse_setting(key: str, parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as fault:
        raise OptionError(f"setting {key!r} is {text!r}: expected {fault}") from None


def _unknown(key: str, known: list[str]) -> str:
    set_by_tables = {
        spelling.lower()
        for scope in (ReadOptions, WriteOptions)
        for name, option in option_fields(scope).items()
        if name in _TABLE_FIELDS
        for spelling in (option.key, *option.aliases)
    }
    if key.lower() in set_by_tables:
        return (
            f"setting {key!r}: expected a setting for all tables, got one that each table sets itself; remove the "
            f"setting"
        )
    return unknown_options([key], sorted(set(known)), "unknown setting")
