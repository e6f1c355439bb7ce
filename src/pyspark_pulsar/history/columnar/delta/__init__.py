"""Tables of topics in the Delta format, by delta-rs, and what we read from and write into their logs. Driver only.

table           a folder of tables, and one table in one state
table_state     a table up to one commit of its log
commit          commits of which one wins
table_location  where a table is stored, and how delta-rs reaches it
positions       up to where the topic is tiered, as transaction identifiers
partitions      partition fields as columns, and keys as values of these
columns         names and types that columns can have
statistics      of a file, as an add action says it
files           add actions as `DataFile`
upkeep          what expiry and compaction do to the log
"""
