"""The warning about fields that no column holds, and where the rows of such a query are read."""

import logging

import pyarrow as pa
import pytest
from unit.schema.test_unheld_fields import NODE, ORDER, schema_of

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.bounds.schema import warn_of_omitted
from pyspark_pulsar.read.planning.tables.known_tables import for_schema

OPTIONS = ReadOptions(
    service_url="pulsar://localhost:6650",
    topic="t",
    admin_url="http://localhost:8080",
    tier_catalog=(("type", "x"),),
)


def test_omitted_fields_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        warn_of_omitted("once", schema_of(ORDER), OPTIONS)
    [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert (
        "Leaving out fields that no column can contain: topic once: amount (decimal(64, 2) has more than"
        in line
    )


@pytest.mark.parametrize("options", [{"recursive_depth": 1}, {"columns": ("id",)}])
def test_fields_that_the_options_exclude_are_not_logged(
    options: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    given = ReadOptions(service_url="pulsar://localhost:6650", topic="t", **options)  # type: ignore[arg-type]
    warn_of_omitted("asked", schema_of(NODE), given)
    assert not caplog.records


def test_rows_with_fields_that_tables_lack_are_not_read_from_tables() -> None:
    deep = schema_of(NODE, depth=2)
    raw = schema_of(ORDER, wanted=pa.schema([("amount", pa.string())]))
    for schema in (deep, raw):
        assert not for_schema(OPTIONS, schema).names_tables
        with pytest.raises(OptionError, match="readFrom"):
            for_schema(ReadOptions(**{**vars(OPTIONS), "read_from": "columns"}), schema)
    assert for_schema(OPTIONS, schema_of(NODE)) is OPTIONS
