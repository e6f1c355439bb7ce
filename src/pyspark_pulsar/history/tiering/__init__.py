"""Tiering: complete ledgers of topics become rows of their tables. Runs anywhere, with or without Spark.

ledgers       the complete ledgers of a topic
definition    the table of a topic: its columns, and how they follow the topic's schema
round         one round of one topic: look, plan, write, commit
writing       splits to data files, in processes of this machine or in tasks of a Spark job
topic_rounds  rounds of all topics, once or for ever
status        how far topics are tiered, and what is left to do
upkeep        merges small files, removes files that no commit names, expires old states of a table
"""
