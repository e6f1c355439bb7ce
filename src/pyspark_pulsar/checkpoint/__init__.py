"""Checkpoints of Spark's streaming queries in Pulsar: a file system in two topics.

    <name>-index     Every change of files and folders. The order of these records decides. Small files are in their
                     record.
    <name>-content   Chunks of larger files. The index names each by ledger and entry, with its CRC-32C.

    state of a file      meaning                                             ends with
    uploading            chunks in the content log that no record names      PUT or PUT_IF_ABSENT: present, if it counts
    present              in the tree                                         DELETE, another PUT, RENAME over it: gone
    gone                 its chunks are removed with their ledgers

Why put-if-absent has one winner: of the records for a path, the first in the log counts. Every process that replays
the log decides the same.
Why a previous owner changes nothing: TAKEOVER is a record too. Every reader ignores later records of other owners.
Why a read returns what was written before: it first applies the log up to the end that the broker reports
(`index.log`).
Why readers detect missing records: see `index.replay`, and `index.creation` for an empty log.
Why a crash leaves a whole file or none: one record makes the file, after all of its chunks are stored.
Why space is released, and never too early: see `upkeep`.
Why a reader that is slower than the removal reports no loss: see `index.follower` for records, and
`content.inline_bodies` and `Checkpoint.read` for content.

Permissions: produce to and consume from both topics. The admin REST API is used only if `admin.url` is set.
"""
