"""The search for the positions at which a streaming query resumes in another cluster, which has copies of its topics.

Each cluster has its own positions. If a query has read a topic partition in cluster `east` up to `12:7`, this position
has no meaning in `west`. But replicators record positions. An entry that `west` has received from `east` contains the
name `east` and the entry's position in `east` (`kernel/src/origin.rs`). So `west` alone can translate the positions of
a checkpoint, while `east` is down.

    entries of `west`      from east,  from east,  produced   from east,  produced   from east,
                           12:5        12:6        in west    12:7        in west    12:8
    read up to 12:7        read        read        ?          unread      unread     unread

A replicator keeps the order of its topic partition. So a binary search in `west` finds the border between read and
unread entries of `east`. If a replicator sends entries a second time, at least one copy of every unread entry is after
that border.

The query also read messages in `east` that were produced in `west` or in a third cluster. Nothing in `west` records
which messages of other clusters the query has read. Messages of two kinds may be unread. Messages of the first kind
never arrived in `east`: the cursor of the replicator in `west` is before such messages. Messages of the second kind
were published at or after the publish time of the last read entry. These times are from several clocks, and replication
takes time. So a margin is subtracted from the publish time of the last read entry.

    `committed_offset`  what a query has read, from its checkpoint; and a copy of the checkpoint for the other cluster
    `topic_log`         the entries of a topic partition by number, and searches among these entries
    `entry_scan`        entries from the broker
    `resume`            the positions for all topic partitions of a query
"""
