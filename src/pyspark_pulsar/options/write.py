"""The options of `df.write` and `df.writeStream`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import choice, text, whole
from pyspark_pulsar.options.protobuf import ProtobufOptions


@dataclass(frozen=True, kw_only=True)
class WriteOptions(ProtobufOptions):
    """`df.write` and `df.writeStream`."""

    topic: str = option("topic", text, "The topic to write to.")
    value_format: str | None = option(
        "valueFormat",
        choice("avro", "json", "protobuf"),
        "Schema to register for rows when the topic has none: `avro` (default), `json` or `protobuf`.",
        default=None,
    )
    key_value_encoding: str | None = option(
        "keyValueEncoding",
        choice("inline", "separated"),
        "Register the columns `key` and `value` as a KEY_VALUE schema when the topic has none: `inline` writes "
        "both into the payload, `separated` makes `key` the message's key. Structs are records in `valueFormat`.",
        default=None,
    )
    compression_type: str = option(
        "pulsar.producer.compressionType",
        choice("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"),
        "Codec of the batched entries.",
        default="LZ4",
    )
    batching_max_messages: int = option(
        "pulsar.producer.batchingMaxMessages",
        whole(1, 100_000),
        "Most messages of one batched entry.",
        default=1_000,
    )
    batching_max_bytes: int = option(
        "pulsar.producer.batchingMaxBytes",
        whole(1, 64 * 1024 * 1024),
        "Most bytes of one batched entry before compression.",
        default=128 * 1024,
    )
    max_pending_bytes: int = option(
        "maxPendingBytes",
        whole(1, 2**40),
        "Bytes that one task keeps sent but not yet confirmed; sending waits above it.",
        default=32 * 1024 * 1024,
    )
    send_timeout_ms: int = option(
        "pulsar.producer.sendTimeoutMs",
        whole(1, 3_600_000),
        "How long a sent entry may stay unconfirmed before the task fails, reconnects included, in milliseconds.",
        default=30_000,
    )
    delivery_guarantee: str = option(
        "deliveryGuarantee",
        choice("at-least-once", "exactly-once", "none"),
        "`at-least-once`: an epoch or job ends when the broker has every row, and rows may be there twice. "
        "`exactly-once`: all rows of an epoch or job become visible, each once, or none do; needs transactions on "
        "the broker. `none`: does not wait for the broker, and rows may be lost.",
        default="at-least-once",
    )
    transaction_timeout_ms: int = option(
        "transactionTimeoutMs",
        whole(1_000, 24 * 3_600_000),
        "With `exactly-once`: how long an epoch or job may take before the broker aborts its transactions, in "
        "milliseconds. Readers wait as long for what follows a transaction that nobody ends.",
        default=600_000,
    )
    transaction_journal: str | None = option(
        "transactionJournal",
        text,
        "With `exactly-once`: begin of the names of the three topics that hold what was decided; every query needs "
        "its own. Default: in the topic's namespace, named after the query's `checkpointLocation`, or for each job.",
        default=None,
    )
