"""A table of a Pulsar catalog by its name in SQL, as options of a read."""

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
    """The topic of a table and the options that its catalog has for it. Raises `OptionError`."""
    from pyspark_pulsar.catalog.names import parse_table
    from pyspark_pulsar.catalog.settings import parse_settings

    conf = spark.conf.getAll
    catalog, namespace, name = _resolved(spark, conf, table)
    named = parse_table(namespace, name)
    if named.system is not None or not named.topic.is_persistent:
        raise OptionError(
            f"table {table}: expected a table of a persistent topic, which has a past and goes on, got "
            f"{'a system table' if named.system else named.topic}; name such a one"
        )
    prefix = f"spark.sql.catalog.{catalog}."
    given = {key.removeprefix(prefix): text for key, text in conf.items() if key.startswith(prefix)}
    return parse_settings(catalog, given).read_options(named.topic)


def _resolved(spark: SparkSession, conf: Mapping[str, str], table: str) -> tuple[str, list[str], str]:
    """Catalog, namespace and table, as Spark finds them."""
    parts = identifier_parts(table)
    if len(parts) > 1 and f"spark.sql.catalog.{parts[0]}" in conf:
        catalog, *parts = parts
    else:
        catalog = spark.catalog.currentCatalog()
    if conf.get(f"spark.sql.catalog.{catalog}") != CATALOG_CLASS:
        raise OptionError(
            f"table {table}: expected a table of a Pulsar catalog, got one of {catalog}; name the catalog, such as "
            f"pulsar.`public/default`.orders, and see pyspark_pulsar.configure"
        )
    *namespace, name = parts
    if not namespace:
        namespace = identifier_parts(spark.catalog.currentDatabase())
    return catalog, namespace, name


def identifier_parts(text: str) -> list[str]:
    """The names of an identifier as SQL has it: dots between them, backticks where a name has dots or slashes. Raises
    `OptionError`."""
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
        f"table: expected names with dots between them, those with other letters than a-z, 0-9 and _ in backticks, "
        f"such as pulsar.`public/default`.orders, got {text!r}"
    )
