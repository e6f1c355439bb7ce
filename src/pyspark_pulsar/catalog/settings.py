"""What a session says under `spark.sql.catalog.<name>.`: checked once, when the catalog's process starts."""

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

# `python` says which interpreter the JVM starts.
_OF_THE_CATALOG: Final = ("defaultNamespace", "tenants", "systemTopics", "python")
# Fields of options that each table says itself.
_OF_THE_TABLE: Final = frozenset({"topic", "topics", "topics_pattern", "columns", "key_column"})
_ANY_TOPIC: Final = "any"


@dataclass(frozen=True, kw_only=True)
class CatalogSettings:
    """All that a session says of one catalog."""

    default_namespace: Namespace
    tenants: tuple[str, ...] | None
    """Those whose namespaces are listed; None: all that the role may list."""
    system_topics: bool
    """Whether listings show topics and namespaces that Pulsar keeps for itself."""
    connection: ReadOptions
    """For questions about no topic in particular; its `topic` means nothing."""
    write: WriteOptions
    """What holds for every table; its `topic` is None."""
    read_texts: Mapping[str, str] = field(repr=False)
    """As `spark.read` takes them; they hold secrets."""
    write_texts: Mapping[str, str] = field(repr=False)

    def read_options(self, topic: TopicName) -> dict[str, str]:
        """What `spark.read.format("pulsar")` is given for a topic."""
        return {**self.read_texts, "topic": topic_text(str(topic))}

    def write_options(self, topic: TopicName, key_column: str | None) -> dict[str, str]:
        """What `df.write.format("pulsar")` is given for a topic."""
        texts = {**self.write_texts, "topic": topic_text(str(topic))}
        if key_column is not None:
            # How a table with a key column is encoded is settled; a setting for new ones would contradict it.
            texts.pop("keyValueEncoding", None)
            texts["keyColumn"] = key_column
        return texts


def parse_settings(catalog: str, settings: Mapping[str, str]) -> CatalogSettings:
    """`settings`: keys without `spark.sql.catalog.<name>.`, in any case. Raises `OptionError` naming the key."""
    try:
        return _parse(settings)
    except OptionError as fault:
        raise OptionError(f"catalog {catalog} (settings spark.sql.catalog.{catalog}.*): {fault}") from None


def _parse(settings: Mapping[str, str]) -> CatalogSettings:
    of_catalog, read, write = _by_scope(settings)
    system_topics = of_catalog.get("systemTopics", "false")
    tenants = of_catalog.get("tenants")
    return CatalogSettings(
        default_namespace=parse_namespace([of_catalog.get("defaultNamespace", DEFAULT_NAMESPACE)]),
        tenants=None if tenants is None else _parsed("tenants", names, tenants),
        system_topics=_parsed("systemTopics", yes_or_no, system_topics),
        connection=parse_options(ReadOptions, {**read, "topic": _ANY_TOPIC}),
        write=parse_options(WriteOptions, write),
        read_texts=read,
        write_texts=write,
    )


def _by_scope(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Settings of the catalog, options for reading and for writing; an alias becomes the option's own key."""
    own = {key.lower(): key for key in _OF_THE_CATALOG}
    reading, writing = _keys(ReadOptions), _keys(WriteOptions)
    by_scope: tuple[dict[str, str], dict[str, str], dict[str, str]] = ({}, {}, {})
    first: dict[str, str] = {}
    for key, text in settings.items():
        names = [scope.get(key.lower()) for scope in (own, reading, writing)]
        if not any(names):
            raise OptionError(_unknown(key, [*own.values(), *reading.values(), *writing.values()]))
        meant = next(name for name in names if name)
        if meant in first:
            raise OptionError(f"settings {first[meant]!r} and {key!r} mean the same; give one of them")
        first[meant] = key
        for values, name in zip(by_scope, names, strict=True):
            if name is not None:
                values[name] = str(text)
    return by_scope


def _keys(scope: type[ConnectionOptions]) -> dict[str, str]:
    """Every key and alias in small letters, and the key that it stands for."""
    return {
        key.lower(): option.key
        for name, option in option_fields(scope).items()
        if name not in _OF_THE_TABLE
        for key in (option.key, *option.aliases)
    }


def _parsed(key: str, parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as fault:
        raise OptionError(f"setting {key!r} is {text!r}: expected {fault}") from None


def _unknown(key: str, known: list[str]) -> str:
    said_by_tables = {
        spelling.lower()
        for scope in (ReadOptions, WriteOptions)
        for name, option in option_fields(scope).items()
        if name in _OF_THE_TABLE
        for spelling in (option.key, *option.aliases)
    }
    if key.lower() in said_by_tables:
        return (
            f"setting {key!r} is said by each table itself: expected what holds for all tables; leave it out"
        )
    return unknown_options([key], sorted(set(known)), "unknown setting")
