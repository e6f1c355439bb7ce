from __future__ import annotations

import pytest

from pyspark_pulsar.catalog.properties import retention
from pyspark_pulsar.catalog.properties.retention import ALL, Retention
from pyspark_pulsar.catalog.properties.table_properties import (
    KEY_COLUMN_PROPERTY,
    format_properties,
    parse_table_properties,
)
from pyspark_pulsar.catalog.properties.units import (
    printed_duration,
    printed_size,
    retention_megabytes,
    retention_minutes,
    threshold_bytes,
    ttl_seconds,
)
from pyspark_pulsar.errors import CatalogUnsupported, OptionError, PulsarError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType


@pytest.mark.parametrize("seconds", [0, 1, 59, 60, 3600, 5400, 86_400, 7 * 86_400, 90_061])
def test_a_printed_duration_is_read_back(seconds: int) -> None:
    assert ttl_seconds("message_ttl", printed_duration(seconds)) == seconds


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 10 << 30, 3 << 40, (1 << 20) + 1])
def test_a_printed_size_is_read_back(size: int) -> None:
    assert threshold_bytes("compaction_threshold", printed_size(size)) == size


def test_units_and_infinity() -> None:
    assert (printed_duration(7 * 86_400), printed_size(10 << 30)) == ("7d", "10GB")
    assert retention_minutes("retention_time", " 12H ") == 720
    assert retention_minutes("retention_time", "infinite") == -1
    assert retention_megabytes("retention_size", "10 gb") == 10_240
    assert retention_megabytes("retention_size", str(1 << 20)) == 1
    assert retention_megabytes("retention_size", "Infinite") == -1


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"retention_time": "90s"}, "whole minutes"),
        ({"retention_time": "7"}, "a duration"),
        ({"retention_time": "-1"}, "a duration"),
        ({"retention_size": "100KB"}, "whole megabytes"),
        ({"retention_time": "9999999999d"}, "infinite"),
        ({"retention_time": "0s", "retention_size": "1GB"}, "expected both 0"),
        ({"message_ttl": "infinite"}, "a duration"),
        ({"compaction_threshold": "1e9"}, "a size"),
        ({"partitions": "-1"}, "whole number"),
        ({"partitions": "²"}, "whole number"),
        ({"value_format": "orc"}, "one of avro"),
        ({"valueFormat": "json"}, "expected 'value_format'"),
        ({"retention.time": "1d"}, "expected 'retention_time'"),
        ({"partition": "3"}, "property 'partition' looks like 'partitions'"),
        ({"numPartitions": "3"}, "looks like 'partitions'"),
        ({"mesage_ttl": "1d"}, "looks like 'message_ttl'"),
        ({"compaction_treshold": "1MB"}, "looks like 'compaction_threshold'"),
        ({"tier_partition_by": "x"}, "looks like 'tier.partition_by'"),
        ({"location": "s3://x"}, "messages of a topic; remove the property"),
        ({"external": "true"}, "messages of a topic; remove the property"),
        ({"provider": "parquet"}, "expected pulsar"),
        ({"option.receiverQueueSize": "1"}, "set the option on the query"),
        ({KEY_COLUMN_PROPERTY: "id"}, "set key_column instead"),
    ],
)
def test_wrong_properties_are_refused(properties: dict[str, str], expected: str) -> None:
    with pytest.raises(PulsarError, match=expected) as caught:
        parse_table_properties(properties)
    assert isinstance(caught.value, (OptionError, CatalogUnsupported))


def test_noise_is_ignored_and_others_are_kept() -> None:
    parsed = parse_table_properties({
        "provider": "Pulsar", "owner": "me", "external": "false", "pulsar.topic": "x", "option.partitions": "3",
        "partitions": "3", "comment": "c", "team": "blue", "partner": "p", "value_format": "JSON",
    })  # fmt: skip
    assert (parsed.partitions, parsed.value_format, parsed.retention) == (3, "json", None)
    assert parsed.own == {"comment": "c", "team": "blue", "partner": "p"}


@pytest.mark.parametrize(
    ("before", "given", "removed", "after"),
    [
        (None, {}, (), None),
        (None, {"retention_time": "1h"}, (), Retention(60, -1)),
        (None, {"retention_size": "1GB"}, (), Retention(-1, 1024)),
        (None, {"retention_time": "0s"}, (), Retention(0, 0)),
        (None, {"retention_time": "infinite"}, (), ALL),
        (Retention(60, -1), {"retention_size": "1GB"}, (), Retention(60, 1024)),
        (Retention(0, 0), {"retention_size": "1GB"}, (), Retention(-1, 1024)),
        (Retention(60, 1024), {}, ("retention_time",), Retention(-1, 1024)),
        (Retention(60, -1), {}, ("retention_time",), None),
        (Retention(0, 0), {}, ("retention_time",), None),
        (Retention(60, 1024), {"retention_time": "2h"}, ("retention_size",), Retention(120, -1)),
    ],
)  # fmt: skip
def test_a_limit_that_is_not_given_stays(
    before: Retention | None, given: dict[str, str], removed: tuple[str, ...], after: Retention | None
) -> None:
    assert retention.change_retention(before, given, removed) == after


def test_keeping_nothing_is_never_a_slip() -> None:
    with pytest.raises(OptionError, match="1h and 0"):
        retention.change_retention(Retention(60, -1), {"retention_size": "0"})


def test_formats_of_schemas() -> None:
    assert format_properties(None) == {"value_format": "bytes"}
    assert format_properties(SchemaInfo("x", SchemaType.JSON)) == {"value_format": "json"}
    assert format_properties(SchemaInfo("x", SchemaType.INT64)) == {}
