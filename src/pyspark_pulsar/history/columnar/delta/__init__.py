"""Tables of topics in the Delta format, by delta-rs, and the contents of their logs. Driver only.

Modules:

    table           a folder of tables, and one table in one state
    table_state     the state of a table after one commit of its log
    commit          commits of which only one succeeds
    table_location  the location of a table, and its settings for delta-rs
    positions       the topic's positions as transaction identifiers
    partitions      partition fields as columns, and partition keys as column values
    columns         the names and types that columns can have
    statistics      the statistics of a file in an add action
    files           add actions as `DataFile`
    upkeep          removes old states, their files, and whole tables
"""
