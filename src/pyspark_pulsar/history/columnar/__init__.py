"""A topic's history as columns: an Iceberg or Delta table that contains the rows of the topic's complete ledgers.

Each table belongs to one topic. For each topic partition, the table contains all messages from the first available
message up to a position (module `positions`). Each message is one row with the topic's value columns and all metadata
columns. The metadata of the table's format lists the data files. The data files are Parquet in both formats.

    positions       the position up to which each topic partition is tiered; committed with the files
    tier_note       the topic property that names the topic's table
    topic_tables    finds the table of a topic from the options `tierCatalog` and `tierTable`
    table           the interface that every format implements: load a state, list the data files, commit
    iceberg         implements the interface for Iceberg, with pyiceberg; driver only
    delta           implements the interface for Delta, with delta-rs; driver only
    scan            the description of a table that Spark's own Parquet scan needs; driver only
    layout          partition fields and sort columns; names of special columns and footer entries
    calendar_units  converts dates and times to hours, days, months and years, by which rows are partitioned
    data_file       the facts about a data file that are known without opening the file; sent to executors
    table_files     the files of a table and their statistics, as one list for each statistic
    storage         opens data files, on the driver and on executors
    columns         column types in files, and their conversion to the columns of a query
    writing         writes rows to data files
    reading         reads the rows of a range from data files: in order, with columns, defaults and filters

Package `read` reads these rows instead of entries from bookies. Package `tiering` writes the rows.
"""
