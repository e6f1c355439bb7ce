"""The options of writes: `df.write` and `df.writeStream`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import choice, text, topic_name, whole, yes_or_no
from pyspark_pulsar.options.producer import ProducerOptions


@dataclass(frozen=True, kw_only=True)
class WriteOptions(ProducerOptions):
    """Options of `df.write` and `df.writeStream`."""

    topic: str | None = option(
        "topic",
        topic_name,
        "Topic to write. Quote a name with leading or trailing blanks as a JSON string.",
        default=None,
        unset="column `__topic` names the topic of each row",
    )
    partitions: int | None = option(
        "partitions",
        whole(0, 100_000),
        "Number of partitions of missing topics, which the write creates. `0` creates topics without partitions. Needs "
        "`admin.url`.",
        default=None,
        unset="the broker creates a missing `topic` by its own policy; topics that rows name must exist",
    )
    value_format: str | None = option(
        "valueFormat",
        choice("avro", "json", "protobuf", "bytes", "string"),
        "Format of the messages if the topic has no schema. `avro`, `json` and `protobuf` write records and register "
        "their schema. `bytes` writes the column `value` without a schema, and `string` writes the column as text.",
        default=None,
        unset="the topic's schema, or `avro` if the topic has none",
    )
    json_times: str = option(
        "jsonTimes",
        choice("text", "numbers"),
        "Form of dates and times in JSON. `text` is ISO 8601, which Java's `java.time`, Go's `time.Time` and this "
        "package read. `numbers` counts in the unit of the topic's schema, for readers whose fields are numbers. A "
        "Java `Instant` would interpret such a number as seconds.",
        default="text",
    )
    key_value_encoding: str | None = option(
        "keyValueEncoding",
        choice("inline", "separated"),
        "If the topic has no schema, register the columns `key` and `value` as a KEY_VALUE schema. `inline` writes "
        "both into the payload. `separated` writes `key` as the key of the message. Structs become records in "
        "`valueFormat`.",
        default=None,
        unset="no KEY_VALUE schema",
    )
    key_column: str | None = option(
        "keyColumn",
        text("the name of a column, such as order_id"),
        "Value column that is also the key of the message. A string is written in UTF-8 and binary unchanged. A whole "
        "number, boolean or date is written as `CAST(... AS STRING)`. A null means no key. Exclusive with a column "
        "`__key`.",
        default=None,
        unset="the column `__key`, if it exists",
    )
    write_tombstones: bool = option(
        "writeTombstones",
        yes_or_no,
        "Write a row with a key and only null value columns as a message without a value, which deletes the key from a "
        "compacted topic. The column of `keyColumn` does not count. With `false`, such a row is a record of nulls.",
        default=False,
    )
    delivery_guarantee: str = option(
        "deliveryGuarantee",
        choice("at-least-once", "exactly-once", "none"),
        "`at-least-once`: an epoch or job ends when the broker has stored every row; a retry can write rows twice. "
        "`exactly-once`: either all rows of an epoch or job become visible once, or no row does. The broker must "
        "support transactions. `none`: the write does not wait for the broker, so rows can be lost.",
        default="at-least-once",
    )
    transaction_timeout_ms: int = option(
        "transactionTimeoutMs",
        whole(1_000, 24 * 3_600_000),
        "With `exactly-once`: timeout of an epoch or job, after which the broker aborts its transactions, in "
        "milliseconds. If a transaction never ends, readers wait for the same time before they see later messages.",
        default=600_000,
    )
    transaction_journal: str | None = option(
        "transactionJournal",
        text("a topic name such as persistent://public/default/orders-journal"),
        "With `exactly-once`: prefix of the names of the three topics of the journal. Each query needs a separate "
        "journal. Required if rows name their topics.",
        default=None,
        unset="a name in the topic's namespace, made of Spark's query id and the topic; batch jobs that write to one "
        "topic share a journal",
    )
    repeated_epoch_check: str = option(
        "repeatedEpochCheck",
        choice("rows", "count", "none"),
        "With `exactly-once`: check of an epoch that Spark plans again after a restart, although it was written. The "
        "write drops the repeated rows after the check. `rows` compares a digest of all rows with the written rows. "
        "`count` compares the number of rows, for rows that differ at each computation (`uuid()`, `rand()`). `none` "
        "does not compare.",
        default="rows",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitions is not None and self.admin_url is None:
            raise OptionError(
                "option 'admin.url' is missing: expected it together with partitions, because the write creates topics "
                "over the admin REST API; set admin.url, or create the topics yourself"
            )
        if self.producer_name is not None and self.delivery_guarantee != "at-least-once":
            raise OptionError(
                f"option 'pulsar.producer.producerName' conflicts with deliveryGuarantee={self.delivery_guarantee}: "
                "expected deliveryGuarantee=at-least-once; the broker's deduplication also drops retries after an "
                "aborted transaction, and lost rows before the last stored row. Remove one of the options"
            )
        if self.key_column is not None and self.key_value_encoding == "separated":
            raise OptionError(
                "option 'keyColumn' conflicts with keyValueEncoding=separated, because that encoding uses the column "
                "key as the message's key; remove one of the options"
            )
