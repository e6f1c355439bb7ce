"""Tiering: what is complete of topics becomes rows of their tables. Runs anywhere; Spark is one of the places to
write in.

complete    which ledgers of a topic partition are complete
definition  the table of a topic: its columns, how they follow the topic's schema
round       one round of one topic: look, plan, write, commit
writers     where splits are written: processes of this machine, or tasks of a Spark job
run         rounds of all topics, once or for ever
status      how far topics are tiered, and what is left to do
upkeep      small files made large, files that nobody names removed, old states of a table forgotten
"""
