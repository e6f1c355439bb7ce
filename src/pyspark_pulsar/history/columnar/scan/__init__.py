"""What Spark's own scan of Parquet must know of a table to give what the data source gives. Driver only.

spark_columns  how each column is asked of files
hadoop         names and settings of stores as Hadoop's file systems have them
"""
