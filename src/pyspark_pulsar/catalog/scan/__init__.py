"""Files, columns and filters with which Spark's own Parquet scan reads the table of a topic."""
