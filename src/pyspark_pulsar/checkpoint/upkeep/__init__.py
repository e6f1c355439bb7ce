"""Space is given back: what the owner does beside the query, on a thread of its process.

    snapshots   the state of the index in a few records, so that those before its anchor may go
    cleaner     old chunks that files still need are written again, so that the ledgers before them may go
    keepers     the durable subscription of each topic moves on; the broker then deletes closed ledgers before it

Why nothing goes too early
    Index: its keeper moves to the anchor when all parts of the snapshot are stored. Whoever starts begins at an anchor
    that is there: the last record names one; if that one is gone, a later one is in the log. Whoever is reading what
    goes begins anew (`index.follower`).
    Content: its keeper moves to the floor, and only after a FLOOR record counts. The state refuses a floor behind a
    chunk that a file needs, and PUTs and MOVEs whose chunks lie before the floor. So in the order of the log either the
    chunk is needed first, and the floor stays before it, or the floor is first, and the file does not count.
    Uploads: those of more than a chunk are records too, which hold the floor back. It never comes nearer to the end of
    the log than where that was `loop.GRACE_SECONDS` ago. An upload whose chunks were given up all the same is refused
    by the log, and written again.
    A former owner: its records do not count, and it moves keepers only behind records of its own that do, or to anchors
    of whole snapshots, which are right whoever wrote them.

How much stays: of closed content ledgers so much that no file needs as the largest ledger holds, then the cleaner
writes the oldest again; and what is in the open one. Of the index what came since the anchor: no more than its small
files hold together, or `snapshots.LEAST_BYTES`, and the rest of a ledger.

A keeper that somebody moved lets the broker remove what is needed. The owner sees that it stands too far: it writes a
snapshot, and what lies before the keeper again. What is gone by then is `CheckpointLost`, when it is read.
"""
