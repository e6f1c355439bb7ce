"""Where a streaming query goes on at another cluster, to which its topics are replicated.

Positions are per cluster. A query that has read a topic partition in cluster `east` up to 12:7 cannot tell where that
is in `west`. But replicators write it down: an entry that `west` has from `east` bears the name of `east` and the
position that it has there (`kernel/src/origin.rs`). So `west` alone can translate the positions of a checkpoint, while
`east` is down.

    entries of `west`      from east,  from east,  produced   from east,  produced   from east,
                           12:5        12:6        in west    12:7        in west    12:8
    read up to 12:7        read        read        ?          unread      unread     unread
                           before                             behind

A replicator keeps the order of its topic partition. So what was read of `east` ends at one place, which a binary search
finds. Where it sends entries a second time, that place is one behind which every unread entry comes, once at least.

Messages that were produced in `west`, or in a third cluster, were read in `east` among the others, and nothing in
`west` tells up to where. Unread are those that never came to `east`: the cursor of the replicator in `west` stands
before them. Of the others those may be unread that were published when the last entry that was read was, or later;
times are of several clocks, and replication takes its time, so a margin lies between.

    `checkpoint`  what Spark has written down of a query, and a copy of it that stands elsewhere
    `topic_log`   the entries of a topic partition by number, and searching them
    `entry_scan`  entries as the broker gives them
    `resume`      the above, for all topic partitions of a query
"""
