"""Upkeep: the owner releases space, on a thread beside the query.

    snapshots   store the state of the index in a few records, so that the records before its anchor can be removed
    cleaner     copies old chunks that files still need to the log end, so that the ledgers before can be removed
    keepers     move the durable subscription of each topic forward; the broker then deletes closed ledgers before it

Why nothing is removed too early
    Index: its keeper subscription moves to the anchor after all parts of the snapshot are stored. A starting
    reader begins at an anchor that exists. The last record names an anchor. If that one was removed, the log
    contains a later one. A reader of records that are being removed searches again (`index.follower`).
    Content: its keeper subscription moves to the floor, and only after a FLOOR record counts. The state
    refuses a floor after a chunk that a file needs, and PUTs and MOVEs with chunks before the floor. So the
    order of the log decides. If the chunk is needed first, the floor stays before it. If the floor is first,
    the file does not count.
    Uploads: an upload of more than one chunk has a record too, which holds the floor back. The floor never
    passes the log end of `upkeep_thread.GRACE_SECONDS` ago. If the chunks of an upload were released
    nevertheless, the log refuses its PUT, and the writer writes the file again.
    A previous owner: its records do not count. This owner moves keeper subscriptions only to the position of
    a FLOOR that counts, or to the anchor of a complete snapshot. An anchor is right for every owner.

How much space is kept: in closed content ledgers, at most as many unneeded bytes as the largest ledger has. Beyond
this, the cleaner writes the oldest chunks again. The open ledger is kept too. In the index, the
records since the anchor: no more than its small files together, or `snapshots.LEAST_BYTES`, and the rest of a ledger.

If someone else moves a keeper subscription, the broker may remove needed data. The owner detects a keeper
subscription that has passed needed data. The owner then writes a snapshot, and writes the chunks before the
keeper subscription again. If the broker has already removed needed data, reading the data raises
`CheckpointLost`.
"""
