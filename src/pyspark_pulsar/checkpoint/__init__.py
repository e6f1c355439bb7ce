"""Checkpoints of Spark's streaming queries that live in Pulsar: two topics are a file system.

    <name>-index     every change of files and folders, in order; the order decides. Small files lie in their record.
    <name>-content   chunks of larger files. The index names each by ledger and entry, with its CRC-32C.

    state of a file      is                                                  ends with
    uploading            chunks in the content log that no record names      PUT or PUT_IF_ABSENT: there, if it counts
    there                in the tree                                         DELETE, another PUT, RENAME over it: gone
    gone                 its chunks go with their ledgers

Why put-if-absent has one winner: of the records for a path the first in the log counts, in every process that replays
it. Why a former owner changes nothing: TAKEOVER is a record too, and behind it records of others count for nobody.
Why what was written is read: a read first applies the log up to the end that the broker names (`index.log`).
Why nothing is missed in silence: see `index.replay`, and `index.creation` for a log that is empty.
Why a crash leaves a whole file or none: one record makes it, after all of its chunks are stored.
Why space is given back and nothing too early: see `upkeep`.
Why a reader that is slower than that is told of no loss: see `index.follower` for records, `content.inline` and
`Checkpoint.read` for content.

Rights: to produce to and to consume both topics. The admin REST API is used where `admin.url` is given.
"""
