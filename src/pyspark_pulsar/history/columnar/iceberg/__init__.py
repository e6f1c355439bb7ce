"""Tables of topics in the Iceberg format, by pyiceberg. Driver only.

catalog           opens, finds, makes and drops tables
table             one table in one state: its properties, its files, commits, expiry
file_description  the statistics of a data file in manifests, as `DataFile`
statistics        what a commit says of a file
summaries         counts of a commit whose keys Python cannot write as dates
files             statistics of all files at once, for Spark's own scan
faults            what can go wrong outside, as `ColumnsUnavailable`
"""
