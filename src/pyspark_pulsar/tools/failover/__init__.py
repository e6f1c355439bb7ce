"""Finding where a streaming query resumes in another cluster, to which its topics are replicated.

Positions are per cluster. A query that has read a topic partition in cluster `east` up to 12:7 does not know the same
place in `west`. But replicators record it: an entry that `west` has from `east` contains the name of `east` and its
position there (`kernel/src/origin.rs`). So `west` alone can translate the positions of a checkpoint, while `east` is
down.

    entries of `west`      from east,  from east,  produced   from east,  produced   from east,
                           12:5        12:6        in west    12:7        in west    12:8
    read up to 12:7        read        read        ?          unread      unread     unread

A replicator keeps the order of its topic partition. So the read entries of `east` end at one place, which a binary
search finds. If a replicator sends entries a second time, every unread entry is after that place at least once.

Messages that were produced in `west`, or in a third cluster, were read in `east` among the others. Nothing in `west`
records how far. Two kinds may be unread. One kind never arrived in `east`: the cursor of the replicator in `west` is
before them. The other kind was published at or after the time of the last read entry. These times are from several
clocks, and replication takes time, so a margin is subtracted.

    `checkpoint`  what a query has read, from its checkpoint; and a copy of the checkpoint for the other cluster
    `topic_log`   the entries of a topic partition by number, and searching them
    `entry_scan`  entries from the broker
    `resume`      the positions for all topic partitions of a query
"""
