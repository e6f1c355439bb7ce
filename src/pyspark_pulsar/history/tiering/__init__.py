"""Tiering: writing the messages of complete ledgers as rows into the tables of topics. Runs with or without Spark.

Modules:

    ledgers           the complete ledgers of a topic
    definition        the columns of a topic's table, and their changes when the topic's schema changes
    followed_table    creates a topic's table, or adds the columns that the table lacks
    round             one round of one topic, from finding its complete ledgers to the commit
    writing           writes splits to data files, in processes of this machine or in tasks of a Spark job
    commit            commits the files and positions of a round
    topic_rounds      runs rounds of all topics, once or repeatedly
    topic_properties  the topic properties that select tiering
    topic_note        writes and removes the note, a topic property that names the topic's table
    status            the positions up to which topics are tiered, and the remaining work
    upkeep            merges small files, removes files that no state of a table lists, expires old states
    faults            converts an error of another library to an error that names the topic
"""
