"""A description of a table with which Spark's own Parquet scan returns the same rows as the data source. Driver only.

Modules:

    spark_columns   the type and the default with which Spark reads each column from files
    tiered_columns  checks that rows of each schema have the reader's fields under the reader's names
    hadoop          URLs and settings of stores in the form of Hadoop's file systems
"""
