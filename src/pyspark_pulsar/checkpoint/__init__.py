"""Checkpoints of Spark's streaming queries in Pulsar: a file system in two topics.

    <name>-index     Every change of a file or folder. Readers apply the records in order. Small files are in their
                     record.
    <name>-content   Chunks of larger files. The index names each by ledger and entry, with its CRC-32C.

    state of a file      meaning                                             ends with
    uploading            chunks in the content log that no record names      PUT or PUT_IF_ABSENT, if applied: present
    present              in the tree                                         DELETE, another PUT, RENAME over it: gone
    gone                 its chunks are removed with their ledgers

Why only one writer wins a put-if-absent: the first record for the path takes effect, and later records have no effect.
So every process that replays the log finds the same winner.
Why a previous owner changes nothing: a takeover is a record of the log too. After this record, every reader ignores the
records of other owners.
Why a read returns what was written before: the read first applies the log up to the end that the broker reports
(`index.log`).
Why readers detect missing records: see `index.replay`, and `index.creation` for an empty log.
Why a crash never leaves a partial file: a single record creates the file, after all chunks of the file are stored.
Why unneeded data is removed, and needed data is not: see `upkeep`.
Why a slow reader reports no loss after upkeep has removed data: see `index.follower` for records. For content, see
`content.inline_bodies` and `Checkpoint.read`.

Permissions: the role needs `produce` and `consume` on both topics. The admin REST API is used only if `admin.url` is
set.
"""
