"""Conversion of a table name of a Pulsar catalog to options of a read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.session.configure import CATALOG_CLASS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IDENTIFIER: Final = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^.`]+)")


def table_options(spark: SparkSession, table: str) -> dict[str, str]:
    """Return options for a read of a table: the topic of the table, and the options of the table's catalog.

    Args:
        spark: The session with the catalog.
        table: The name of the table, as in SQL.

    Raises:
        OptionError: The name is malformed, or does not name a persistent topic of a Pulsar catalog.

    """
    from pyspark_pulsar.catalog.names import parse_table
    from pyspark_pulsar.catalog.settings import parse_settings

    conf = spark.conf.getAll
    catalog, namespace, name = _resolved(spark, conf, table)
    named = parse_table(namespace, name)
    if named.system is not None or not named.topic.is_persistent:
        raise OptionError(
            f"table {table}: expected a table of a persistent topic, got "
            f"{'a system table' if named.system else named.topic}; choose the table of a persistent topic"
        )
    prefix = f"spark.sql.catalog.{catalog}."
    given = {key.removeprefix(prefix): text for key, text in conf.items() if key.startswith(prefix)}
    return parse_settings(catalog, given).read_options(named.topic)


def _resolved(spark: SparkSession, conf: Mapping[str, str], table: str) -> tuple[str, list[str], str]:
    """Resolve the name of a table by Spark's rules, and return its catalog, namespace and table."""
    parts = identifier_parts(table)
    if len(parts) > 1 and f"spark.sql.catalog.{parts[0]}" in conf:
        catalog, *parts = parts
    else:
        catalog = spark.catalog.currentCatalog()
    if conf.get(f"spark.sql.catalog.{catalog}") != CATALOG_CLASS:
        raise OptionError(
            f"table {table}: expected a table of a Pulsar catalog, got a table of the catalog {catalog}; add the name "
            f"of a Pulsar catalog, such as pulsar.`public/default`.orders (see pyspark_pulsar.configure)"
        )
    *namespace, name = parts
    if not namespace:
        namespace = identifier_parts(spark.catalog.currentDatabase())
    return catalog, namespace, name


def identifier_parts(text: str) -> list[str]:
    """Split an SQL identifier into its names.

    Dots separate the names. Names with dots or slashes are in backticks.

    Raises:
        OptionError: The identifier is malformed.

    """
    parts: list[str] = []
    place = 0
    while match := _IDENTIFIER.match(text, place):
        quoted, plain = match["quoted"], match["plain"]
        parts.append(plain.strip() if quoted is None else quoted.replace("``", "`"))
        place = match.end()
        if place == len(text):
            return parts
        if text[place] != ".":
            break
        place += 1
    raise OptionError(
        f"table: expected names separated by dots, such as pulsar.`public/default`.orders, got {text!r}; put backticks "
        f"around names that contain other characters than letters, digits and _"
    )
