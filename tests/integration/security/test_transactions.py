"""Exactly-once writes to a server with authentication: transaction coordinators use the same protected
connections.

The error names the right that they need.
"""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from fixtures.secured_pulsar import STRANGER, WORKER, SecuredPulsar
from integration.official import Refused
from pyspark.sql import SparkSession

from pyspark_pulsar.tools.cli import cli

RIGHT = "grant-permission pulsar/system --role ROLE --actions consume"


def write(spark: SparkSession, topic: str, options: dict[str, str]) -> None:
    rows = spark.range(100, numPartitions=3).selectExpr("cast(id as string) value")
    writer = rows.write.format("pulsar").options(**options).option("topic", topic)
    writer.option("deliveryGuarantee", "exactly-once").mode("append").save()


@pytest.mark.parametrize("tls", [False, True])
def test_exactly_once_needs_one_more_right_than_other_writes(
    spark: SparkSession, secured: SecuredPulsar, topic: str, refused: Refused, tls: bool
) -> None:
    options = secured.options(WORKER, tls=tls)
    right = f"namespaces/pulsar/system/permissions/{WORKER}"
    assert RIGHT in refused(lambda: write(spark, topic, options), "PermissionDenied")
    secured.request("POST", right, ["consume"])
    try:
        write(spark, topic, options)
        found = spark.read.format("pulsar").options(**options).option("topic", topic).load()
        assert sorted(int(row.value) for row in found.collect()) == list(range(100))
        settings = [word for key, text in options.items() for word in ("--option", f"{key}={text}")]
        arguments = ["transactions", "resolve", topic, "--service-url", options["service.url"], *settings]
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert "is committed, 100 rows in 3 transactions" in result.output
    finally:
        secured.request("DELETE", right)


def test_a_role_without_rights_is_refused(
    spark: SparkSession, secured: SecuredPulsar, topic: str, refused: Refused
) -> None:
    said = refused(lambda: write(spark, topic, secured.options(STRANGER)), "PermissionDenied")
    assert topic.rpartition("/")[0] in said
