"""Tables of topics in the Iceberg format, with pyiceberg. Driver only.

Modules:

    catalog           opens catalogs; finds, creates and drops tables
    table             one table in one state: properties, files, commits, expiry of snapshots
    file_description  converts files in manifests to `DataFile`
    positions         the positions that belong to the current snapshot
    statistics        the statistics of files in a commit
    summaries         snapshot summaries with partition keys that Python cannot write as dates
    files             statistics of all files, for Spark's own scan
    sessions          deadlines for requests to REST catalogs
    faults            converts errors of other libraries to `ColumnsUnavailable`
"""
