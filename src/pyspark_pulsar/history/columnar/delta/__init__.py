"""Tables of topics in the Delta format, with delta-rs, and the contents of their logs. Driver only.

Modules:

    table           a folder of tables, and one table in one state
    table_state     the state of a table after one commit of its log
    commit          commits to a table; if two processes commit at the same time, only one commit succeeds
    table_location  the location of a table, and the settings with which delta-rs opens the table
    positions       stores the topic's positions as transaction identifiers
    partitions      stores partition fields as columns, and partition keys as column values
    columns         the names and types that columns can have
    statistics      the statistics of a file in an add action
    files           converts add actions to `DataFile`
    upkeep          removes old states and their files, and drops tables
"""
