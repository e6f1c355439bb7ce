"""History as columns: topics' complete ledgers as rows of Iceberg and Delta tables."""
