"""A topic's history as columns: an Iceberg or Delta table that contains the rows of the topic's complete ledgers.

Each table belongs to one topic. For each topic partition it contains all messages from the first available one up to a
position (`positions`). Each message is one row with the topic's value columns and all metadata columns. The table's
format decides which files the table consists of. The contents of a file are the same for both formats: Parquet.

    positions       the position up to which each topic partition is tiered; committed with the files
    tier_note       the topic's property that names its table
    topic_tables    finds the table of a topic, by the options `tierCatalog` and `tierTable`
    table           the interface that every format implements: state, files of a range, one commit
    iceberg         the interface for Iceberg, by pyiceberg; driver only
    delta           the interface for Delta, by delta-rs; driver only
    scan            the description of a table that Spark's own Parquet scan needs; driver only
    layout          assigns rows to files and orders them; names of special columns and footer entries
    calendar_units  hours, days, months and years of dates and times, by which rows are partitioned
    data_file       the facts about a data file that are known without opening the file; sent to executors
    table_files     the same facts about all files of a table, column by column
    storage         opens data files, also on executors without pyiceberg and delta-rs
    columns         column types in files, and their conversion to the columns of a query
    writing         writes rows to data files
    reading         reads the rows of a range from data files: in order, with columns, defaults and filters

`read` reads these rows as an alternative to entries from bookies. `tiering` writes them.
"""
