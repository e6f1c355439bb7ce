"""The options of `df.write` and `df.writeStream`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import choice, text, topic_name, whole, yes_or_no
from pyspark_pulsar.options.producer import ProducerOptions


@dataclass(frozen=True, kw_only=True)
class WriteOptions(ProducerOptions):
    """`df.write` and `df.writeStream`."""

    topic: str | None = option(
        "topic",
        topic_name,
        "The topic to write to. A full name with blanks at its ends is given as a text of JSON, with quotation marks. "
        "Without it column `__topic` names the topic of each row.",
        default=None,
    )
    partitions: int | None = option(
        "partitions",
        whole(0, 100_000),
        "Create topics that are missing, with so many partitions (0: not partitioned); needs `admin.url`. Without it, "
        "the topic of option `topic` is created as the broker's policy says, and those that rows name must exist.",
        default=None,
    )
    value_format: str | None = option(
        "valueFormat",
        choice("avro", "json", "protobuf", "bytes", "string"),
        "What rows are written as when the topic has no schema: records in `avro` (default), `json` or `protobuf`, "
        "whose schema is registered, or the column `value` as `bytes` without a schema, or as a `string`.",
        default=None,
    )
    json_times: str = option(
        "jsonTimes",
        choice("text", "numbers"),
        "How dates and times are written in JSON: `text` is ISO 8601, which Java's classes of `java.time`, Go's "
        "`time.Time` and this package read. `numbers` counts the unit of the topic's schema, for readers whose fields "
        "are numbers; a Java `Instant` would take such a number for seconds.",
        default="text",
    )
    key_value_encoding: str | None = option(
        "keyValueEncoding",
        choice("inline", "separated"),
        "Register the columns `key` and `value` as a KEY_VALUE schema when the topic has none: `inline` writes "
        "both into the payload, `separated` makes `key` the message's key. Structs are records in `valueFormat`.",
        default=None,
    )
    key_column: str | None = option(
        "keyColumn",
        text,
        "A value column that is also the message's key: a string in UTF-8, binary as it is; a whole number, boolean or "
        "date as the text of `CAST(... AS STRING)`. Null is no key. Not beside a column `__key`.",
        default=None,
    )
    write_tombstones: bool = option(
        "writeTombstones",
        yes_or_no,
        "Write rows with a key whose value columns (without that of `keyColumn`) are all null as messages without a "
        "value, which delete the key from a compacted topic; otherwise they are records of nulls.",
        default=False,
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
        "its own. Default: in the topic's namespace, named after Spark's id of the query and the topic; all jobs that "
        "write to one topic share theirs. Needed where rows name their topics.",
        default=None,
    )
    repeated_epoch_check: str = option(
        "repeatedEpochCheck",
        choice("rows", "count", "none"),
        "With `exactly-once`, when a query starts again and Spark plans an epoch that was written before, whose rows "
        "are then dropped: how they are compared with those that were written. `rows`: by a digest of all they hold; "
        "`count`: by their number, for rows that are not the same whenever they are computed (`uuid()`, `rand()`); "
        "`none`: not at all.",
        default="rows",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitions is not None and self.admin_url is None:
            raise OptionError(
                "option 'admin.url' is missing: expected 'admin.url' beside partitions, since topics are created over "
                "the admin REST API; set it, or create the topics yourself"
            )
        if self.producer_name is not None and self.delivery_guarantee != "at-least-once":
            raise OptionError(
                f"option 'pulsar.producer.producerName' contradicts deliveryGuarantee={self.delivery_guarantee}: "
                "expected deliveryGuarantee=at-least-once beside it. A broker takes what an aborted transaction wrote, "
                "and what came behind a lost row, for written. Leave one of them out"
            )
        if self.key_column is not None and self.key_value_encoding == "separated":
            raise OptionError(
                "option 'keyColumn' contradicts keyValueEncoding=separated, where column key is the message's key; "
                "leave one of them out"
            )
