"""Topics that say themselves that they are to be tiered: TBLPROPERTIES in SQL, and whoever tiers their namespace."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from integration.tier.sql_table import SqlTable
from pyspark.errors import PySparkException

import pyspark_pulsar
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.tools.cli import cli


def test_tables_that_are_made_to_be_tiered(sql: SqlTable) -> None:
    spark, tier, prefix = sql.spark, sql.tier, sql.namespace
    namespace = "/".join(tier.topic.split("/")[2:4])
    stated = "'tier' = 'iceberg', 'tier.partition_by' = 'country', 'tier.sort_by' = 'id'"
    spark.sql(f"CREATE TABLE {prefix}.orders (id BIGINT, country STRING) TBLPROPERTIES ({stated})")
    spark.sql(f"CREATE TABLE {prefix}.plain (id BIGINT)")
    for name, columns in (("orders", "id, if(id % 2 = 0, 'pt', 'fr') AS country"), ("plain", "id")):
        spark.range(100).selectExpr(*columns.split(", ", 1)).writeTo(f"{prefix}.{name}").append()
        tier.admin.unload(f"persistent://{namespace}/{name}")
    options = {key: text for key, text in tier.texts().items() if key != "topic"}
    outcomes = pyspark_pulsar.tier(spark, namespace=namespace, **options)
    assert [(outcome.topic.local, outcome.rows) for outcome in outcomes] == [("orders", 100)]
    tables = TopicTables(tier.options())
    table = tables.load(TopicName.parse(f"persistent://{namespace}/orders"))
    assert table is not None
    layout = table.layout(next(iter(table.schema_texts.values())))
    assert [str(field.source) for field in layout.partition_fields] == ["country"]
    assert layout.sort_columns == ("id",)
    assert {file.key for file in table.files()} == {("fr",), ("pt",)}
    properties = dict(spark.sql(f"SHOW TBLPROPERTIES {prefix}.orders").collect())
    assert properties["tier"] == "iceberg"
    # One that is there becomes one that is tiered, and the other way round.
    spark.sql(f"ALTER TABLE {prefix}.plain SET TBLPROPERTIES ('tier' = 'iceberg')")
    spark.sql(f"ALTER TABLE {prefix}.orders SET TBLPROPERTIES ('tier' = 'none')")
    arguments = [f"--namespace={namespace}", f"--catalog={json.dumps(tier.catalog)}"]
    arguments += [f"--service-url={tier.server.service_url}", f"--admin-url={tier.server.admin_url}"]
    shown = CliRunner().invoke(cli, ["tier", "run", "--json", *arguments])
    assert shown.exit_code == 0, shown.output
    rows = [json.loads(line) for line in shown.output.splitlines()]
    assert [(row["topic"].rpartition("/")[2], row["rows"]) for row in rows] == [("plain", 100)]
    shown = CliRunner().invoke(cli, ["tier", "status", "--json", *arguments])
    assert [json.loads(line)["topic"].rpartition("/")[2] for line in shown.output.splitlines()] == ["plain"]
    # A table of the catalog by its name; what is said of another format is not done.
    assert pyspark_pulsar.tier(spark, f"{prefix}.orders")[0].rows == 0
    spark.sql(f"CREATE TABLE {prefix}.lake (id BIGINT) TBLPROPERTIES ('tier' = 'delta')")
    with pytest.raises(OptionError, match="expected tables of the format delta"):
        pyspark_pulsar.tier(spark, f"{prefix}.lake")


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ("'tier' = 'parquet'", "expected one of iceberg, delta, none"),
        ("'tier' = 'iceberg', 'tier.partition_by' = 'week(day)'", "partition fields"),
        ("'Tier' = 'iceberg'", "expected 'tier'"),
    ],
)
def test_properties_that_no_tiering_could_follow(properties: str, words: str, sql: SqlTable) -> None:
    with pytest.raises(PySparkException, match=words):
        sql.spark.sql(f"CREATE TABLE {sql.namespace}.bad (id BIGINT) TBLPROPERTIES ({properties})")
    sql.spark.sql(f"CREATE TABLE {sql.namespace}.good (id BIGINT)")
    with pytest.raises(PySparkException, match=words):
        sql.spark.sql(f"ALTER TABLE {sql.namespace}.good SET TBLPROPERTIES ({properties})")
