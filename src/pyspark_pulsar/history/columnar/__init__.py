"""A topic's history as columns: the table that holds the rows of its complete ledgers, in an open format.

A table is of one topic. It holds, of each topic partition, the messages from the first that there was up to a position,
all of them and each once (`positions`), as rows with the topic's value columns and all metadata columns. Which files
these are is the business of the table's format, Iceberg or Delta; what lies in a file is the same for both: Parquet.

    positions     up to where each topic partition is tiered; kept in the table, committed with the files
    tier_note     where a topic says that its table is
    topic_tables  which table is a topic's: options `tierCatalog` and `tierTable`
    table         what every format offers: state, files of a range, one commit
    iceberg       ... by pyiceberg; driver only
    delta         ... by delta-rs; driver only
    scan          what Spark's own scan of Parquet must know of a table; driver only
    layout        which rows lie in which file, in which order; names of columns and of marks in files
    calendar_units  hours, days, months and years of dates and times, by which rows are partitioned
    data_file     what is known of a data file without opening it; travels to executors
    table_files   ... of all files of a table, column by column
    storage       opens data files; executors too, without either library
    columns       their types in files, and what they are in a query
    writing       rows to data files
    reading       data files to rows of a range: in order, with the query's columns, defaults and filters

`read` takes rows from here as it takes entries from bookies. `tiering` puts them here.
"""
