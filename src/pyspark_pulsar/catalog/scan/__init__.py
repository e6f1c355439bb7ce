"""The files, columns and filters for reading the table of a topic with Spark's own Parquet scan."""
