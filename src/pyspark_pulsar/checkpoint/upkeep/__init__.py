"""Upkeep: the owner of a checkpoint removes unneeded data, on a thread that runs next to the query.

    snapshots   store the state of the index in a few records, so that the records before the anchor can be removed
    cleaner     copies old chunks of present files to the log end, so that the old ledgers can be removed
    keepers     move the keeper subscription of each topic forward, so that the broker removes earlier closed ledgers

A keeper subscription is a durable subscription. The broker keeps all messages after the position of the subscription.

Why nothing is removed too early
    Index: its keeper subscription moves to the anchor of a snapshot after all parts of the snapshot are stored. A
    starting reader begins at an anchor that the last record names. If this anchor was removed, the log contains a
    snapshot with a later anchor. A reader that misses removed records searches a state again (`index.follower`).
    Content: its keeper subscription moves to the floor, after a FLOOR record has taken effect. A FLOOR record has no
    effect if a file needs an earlier chunk. A PUT or MOVE has no effect if one of its chunks is before the floor. So
    the order of PUT and FLOOR in the index decides. If the PUT is first, the floor stays before the file's chunks. If
    the FLOOR is first, the PUT has no effect.
    Uploads: an upload of more than one chunk writes an UPLOAD record, and the floor stays before the upload's chunks.
    The floor also stays at or before the position that was the log end `upkeep_thread.GRACE_SECONDS` ago. If the chunks
    of an upload are released nevertheless, the PUT of the file has no effect, and the writer writes the file again.
    Previous owners: the records of a previous owner have no effect. Every owner moves keeper subscriptions only to the
    position of a FLOOR that has taken effect, or to the anchor of a complete snapshot. A snapshot is valid for every
    owner.

How much unneeded data remains: the closed content ledgers contain at most as many unneeded bytes as the largest ledger
has bytes. Beyond this limit, the cleaner writes the oldest chunks again. The open content ledger is never removed. The
index contains the records since the last anchor, and the earlier records of the anchor's ledger. A new snapshot is
written when these records contain more bytes of small files than all present small files have, and more than
`snapshots.LEAST_BYTES`.

If a policy or a command moves a keeper subscription, the broker may remove needed data. The owner detects a keeper
subscription that has passed needed data. The owner then writes a snapshot, and writes the chunks before the position of
the subscription again. If the broker has already removed needed data, reading this data raises `CheckpointLost`.
"""
