"""Tiering: complete ledgers of topics become rows of their tables. Runs anywhere, with or without Spark.

Modules:

    ledgers           the complete ledgers of a topic
    definition        the columns of a topic's table, and how they follow the topic's schema
    followed_table    creates a topic's table, or adds the columns that the table lacks
    round             one round of one topic: look, plan, write, commit
    writing           writes splits to data files, in processes of this machine or in tasks of a Spark job
    commit            commits the files and positions of a round
    topic_rounds      rounds of all topics, once or until a stop
    topic_properties  the topic's own properties that select tiering
    topic_note        writes and removes the note that names the topic's table
    status            the positions up to which topics are tiered, and the remaining work
    upkeep            merges small files, removes files that no commit names, expires old states of a table
    faults            converts faults of other libraries to errors of one topic
"""
