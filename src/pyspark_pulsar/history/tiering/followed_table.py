"""The step `follow` of a round. The step creates the table, or adds the columns of the topic's schema to the table."""

from __future__ import annotations

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.history.columnar.table import ColumnarTable
from pyspark_pulsar.history.columnar.topic_tables import TopicTables
from pyspark_pulsar.history.tiering.definition import TableSettings, definition_of, follow
from pyspark_pulsar.history.tiering.topic_properties import topic_settings
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.read_schema import ReadSchema


def create_or_follow_table(
    admin: AdminClient,
    tables: TopicTables,
    topic: TopicName,
    table: ColumnarTable | None,
    schema: ReadSchema,
    settings: TableSettings,
) -> tuple[ColumnarTable, str]:
    """Create the topic's table if `table` is None, and add the columns of the schema that the table lacks.

    Returns:
        The table, and the text of the topic's schema as the table stores the schema (`columnar.tiered_schema`).

    Raises:
        TableMoved: Another process has changed the table since the table was loaded.
        SchemaError: The table cannot store the topic's schema.
        ColumnsUnavailable: The catalog cannot be reached.

    """
    if table is None:
        catalog = tables.catalog
        stated = topic_settings(admin, topic, catalog.format, settings)
        table = catalog.create(tables.identifier(topic), definition_of(schema, topic, stated))
    return table, follow(table, schema)
