"""Checkpoints of Spark's streaming queries in Pulsar: a file system in two topics.

    <name>-index     One record for each change of a file or folder. Readers apply the records in order. The record of
                     a small file also contains the bytes of the file.
    <name>-content   Chunks of larger files. The file's record in the index contains the ledger id, the entry id and
                     the CRC-32C of each chunk.

    state of a file   meaning                                          ends with                           next state
    uploading         no PUT names the file's chunks yet               PUT or PUT_IF_ABSENT takes effect   present
    present           the tree contains the file                       DELETE, another PUT to this path,   gone
                                                                       or RENAME to this path
    gone              upkeep removes the ledgers of the file's chunks

Why only one writer wins a put-if-absent: the first record for the path takes effect, and later records have no effect.
So every process that replays the log finds the same winner.
Why a previous owner changes nothing: a takeover is a record of the index. After this record, every reader ignores the
records of other owners.
Why a read sees every earlier write: the read first applies all records before the log end that the broker reports
(`index.log`).
Why readers detect missing records: see `index.replay`, and `index.creation` for an empty log.
Why a crash never leaves a partial file: a single record creates the file, after all chunks of the file are stored.
Why unneeded data is removed, and needed data is not: see `upkeep`.
Why a slow reader reports no loss after upkeep has removed data: see `index.follower` for records. For content, see
`content.inline_bodies` and `Checkpoint.read`.

Permissions: the role needs `produce` and `consume` on both topics. The admin REST API is used only if `admin.url` is
set.
"""
