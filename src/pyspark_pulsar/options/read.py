"""The options of reads: `spark.read` and `spark.readStream`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import at_most_one, exactly_one, option
from pyspark_pulsar.options.parsers import (
    choice,
    json_document,
    names,
    path,
    paths_by_name,
    text,
    topic_name,
    topic_names,
    whole,
    yes_or_no,
)
from pyspark_pulsar.options.protobuf import ProtobufOptions
from pyspark_pulsar.options.segments import SegmentOptions
from pyspark_pulsar.options.triggers import TriggerOptions
from pyspark_pulsar.options.values.offset_bound import LogSide, OffsetBound, offset_bound
from pyspark_pulsar.options.values.topic_pattern import TopicPattern, topic_pattern


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ProtobufOptions, SegmentOptions, TriggerOptions):
    """Options of `spark.read` and `spark.readStream`."""

    topic: str | None = option(
        "topic",
        topic_name,
        "Topic to read. Set exactly one of `topic`, `topics` and `topicsPattern`. Quote a name with leading or "
        "trailing blanks as a JSON string.",
        default=None,
        unset="none",
    )
    topics: tuple[str, ...] | None = option(
        "topics",
        topic_names,
        "Topics to read, separated by commas, or as a JSON array. In a JSON array, names may contain commas and "
        "leading or trailing blanks.",
        default=None,
        unset="none",
        aliases=("subscribe",),
    )
    topics_pattern: TopicPattern | None = option(
        "topicsPattern",
        topic_pattern,
        "Regular expression for the topics to read. It must match the whole topic name, "
        "`persistent://tenant/namespace/name` or `tenant/namespace/name`. The tenant is plain text. Without "
        "`admin.url`, the namespace is plain text too.",
        default=None,
        unset="none",
        aliases=("subscribePattern",),
    )
    discovery_interval_ms: int = option(
        "discoveryIntervalMs",
        whole(0, 86_400_000),
        "Streams only: longest time between searches for new topics and partitions, in milliseconds. With `0`, each "
        "trigger searches.",
        default=0,
        aliases=("partitionDiscoveryIntervalMs", "pulsar.source.partitionDiscoveryIntervalMs"),
    )
    waiting_for_non_existed_topic: bool = option(
        "waitingForNonExistedTopic",
        yes_or_no,
        "When a query is created, wait up to `pollTimeoutMs` for a named topic that does not exist, or for the first "
        "match of a pattern. With `false`, the query fails without waiting.",
        default=False,
    )
    starting_offsets: OffsetBound | None = option(
        "startingOffsets",
        offset_bound("startingOffsets", LogSide.EARLIEST, LogSide.LATEST),
        "First position to read, inclusive: `earliest`, `latest`, or a JSON object by topic partition. Its values are "
        "`earliest`, `latest` or `ledger:entry[:batchIndex]`. The key `*` sets `earliest` or `latest` for all other "
        "partitions. A stream with a checkpoint ignores the option and resumes from the checkpoint.",
        default=None,
        unset="`earliest` for a batch, `latest` for a stream",
    )
    starting_subscription: str | None = option(
        "startingSubscription",
        text("the name of a subscription, such as orders-app"),
        "Durable subscription whose position is the start of the query. The position is after the last message up to "
        "which all are acknowledged. The query does not change the subscription. A stream with a checkpoint ignores "
        "the option.",
        default=None,
        unset="`startingOffsets` applies",
    )
    ending_offsets: OffsetBound | None = option(
        "endingOffsets",
        offset_bound("endingOffsets", LogSide.LATEST),
        "Position at which the query ends, exclusive: `latest`, or a JSON object as for `startingOffsets`.",
        default=None,
        unset="`latest` for a batch, no end for a stream",
    )
    columns: tuple[str, ...] | None = option(
        "columns",
        names,
        "Columns to read, in this order, separated by commas. `*` means all value columns. The read does not decode "
        "other columns.",
        default=None,
        unset="all value columns and six metadata columns",
    )
    recursive_depth: int | None = option(
        "recursiveFieldMaxDepth",
        whole(1, 15),
        "Maximum depth of a record or message that contains itself, in Avro, JSON and Protobuf. Spark's "
        "`from_protobuf` counts in the same way (`recursive.fields.max.depth`). `1` omits the fields that repeat a "
        "surrounding type, `2` includes them once. Deeper fields are omitted, and are null in unions.",
        default=None,
        unset="`1`, with a warning that names the omitted fields",
        aliases=("recursive.fields.max.depth",),
    )
    mode: str = option(
        "mode",
        choice("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        "Fate of a message whose value cannot be decoded. `FAILFAST` fails the query. `PERMISSIVE` returns a row "
        "without a value, with the bytes of the message in the column of `columnNameOfCorruptRecord`. `DROPMALFORMED` "
        "skips the message. Damaged entries fail the query in each mode.",
        default="FAILFAST",
    )
    corrupt_column: str = option(
        "columnNameOfCorruptRecord",
        text("the name of a column, such as _corrupt_record"),
        "Name of the column that `mode=PERMISSIVE` adds for the bytes of messages that cannot be decoded.",
        default="_corrupt_record",
    )
    different_schemas: bool = option(
        "allowDifferentTopicSchemas",
        yes_or_no,
        "Read topics with different schemas in one query. Column `value` contains the bytes of each message, and "
        "`__schemaVersion` is one of the default columns.",
        default=False,
    )
    different_topics: bool = option(
        "allowDifferentTopics",
        yes_or_no,
        "Streams only: accept a checkpoint that contains topics which the query does not read. The query skips the "
        "unread messages of these topics, and drops their positions from the checkpoint.",
        default=False,
    )
    batch_rows: int = option(
        "batchRows",
        whole(1, 1_000_000),
        "Maximum number of rows in one Arrow batch that a task passes to Spark. It bounds the memory of a task.",
        default=16_384,
    )
    columnar_reads: bool = option(
        "columnarReads",
        yes_or_no,
        "Pass record batches to Spark as columns if the session has the jar. With `false`, Spark first converts each "
        "message to a row, which is slower than the decoding. The result is the same.",
        default=True,
    )
    changes: str | None = option(
        "changes",
        json_document('{"key": "id", "separated": false}'),
        "Internal: the catalog sets this option for `CHANGES`. The rows are changes of a table, with columns such as "
        "`_change_type`. `key` is the key column of the table or null. `separated` is true if the key is the key of "
        "the messages.",
        default=None,
        unset="rows are messages",
    )
    limit: int | None = option(
        "limit",
        whole(0, 2_147_483_647),
        "Batch only: number of rows after which each task ends. Which rows a task returns is not defined. In a session "
        "with the jar, the `LIMIT` of a query without a filter sets this option, also for `head` and `isEmpty`.",
        default=None,
        unset="no limit",
    )
    receiver_queue_size: int = option(
        "pulsar.consumer.receiverQueueSize",
        whole(1, 1_000_000),
        "Maximum number of messages that the broker sends before the reader has processed earlier messages.",
        default=50_000,
        aliases=("pulsar.reader.receiverQueueSize",),
    )
    consumers_per_split: int = option(
        "consumersPerSplit",
        whole(1, 16),
        "Maximum number of consumers that a task opens at the same time to read from the broker, each for a part of "
        "the range. A broker serves a single consumer slowly if entries are small. The order of rows is the same.",
        default=4,
    )
    poll_timeout_ms: int = option(
        "pollTimeoutMs",
        whole(1, 86_400_000),
        "How long a task waits for the next message of its range before it fails, in milliseconds, including the time "
        "to connect. The same timeout applies to unreachable brokers of a stream and to `waitingForNonExistedTopic`.",
        default=120_000,
    )
    subscription_name: str | None = option(
        "subscriptionName",
        text("a name such as orders-query"),
        "Streams only: durable subscription whose cursor follows the query, so that Pulsar retains unread messages. "
        "The query creates the subscription if it is missing, and acknowledges the messages of committed "
        "micro-batches. The query does not read messages from the subscription.",
        default=None,
        unset="no subscription: the query leaves no state in Pulsar",
        aliases=("predefinedSubscription",),
    )
    replicate_subscription_state: bool = option(
        "pulsar.consumer.replicateSubscriptionState",
        yes_or_no,
        "Replicate the subscription of `subscriptionName` to the clusters to which the topics are replicated. A query "
        "can then start there with `startingSubscription`. The driver reads a part of the messages for the "
        "replication.",
        default=False,
    )
    lag_interval_ms: int = option(
        "lagIntervalMs",
        whole(0, 86_400_000),
        "Streams only: shortest time between measurements of the query's lag, in milliseconds. With `0`, each trigger "
        "measures the lag.",
        default=10_000,
    )
    read_compacted: bool = option(
        "readCompacted",
        yes_or_no,
        "Read the compacted view of the topic: the latest message of each key up to the compaction horizon, and all "
        "later messages.",
        default=False,
        aliases=("pulsar.reader.readCompacted", "pulsar.consumer.readCompacted"),
    )
    max_pending_chunked_message: int = option(
        "pulsar.consumer.maxPendingChunkedMessage",
        whole(0, 1_000_000),
        "Maximum number of incomplete chunked messages that a task buffers; `0` means no limit. Above the limit, a "
        "task discards the oldest one, and reads it again when its last chunk arrives.",
        default=10,
        aliases=("pulsar.reader.maxPendingChunkedMessage",),
    )
    max_uncompressed_message_size: int | None = option(
        "maxUncompressedMessageSize",
        whole(1, 2**30),
        "Maximum size of the uncompressed payload of one entry or one chunked message, in bytes. The read does not "
        "decompress a larger payload, and treats it as a message that cannot be decoded (`mode`).",
        default=None,
        unset="16 times the stored size, and at least 80 MiB (16 times the brokers' default limit of a message)",
    )
    crypto_default_private_key: str | None = option(
        "pulsar.consumer.cryptoKeyReader.defaultPrivateKey",
        path,
        "Path of an RSA private key (PEM) on the executors, for messages whose key name has no entry in "
        "`pulsar.consumer.cryptoKeyReader.privateKeys`.",
        default=None,
        unset="none",
        aliases=("pulsar.reader.cryptoKeyReader.defaultPrivateKey",),
        secret=True,
    )
    crypto_private_keys: tuple[tuple[str, str], ...] = option(
        "pulsar.consumer.cryptoKeyReader.privateKeys",
        paths_by_name,
        "Paths of the RSA private keys (PEM) on the executors, as a JSON object by key name.",
        default=(),
        unset="none",
        aliases=("pulsar.reader.cryptoKeyReader.privateKeys",),
        secret=True,
    )
    crypto_failure_action: str = option(
        "pulsar.consumer.cryptoFailureAction",
        choice("FAIL", "DISCARD", "CONSUME"),
        "Fate of a message that cannot be decrypted. `FAIL` fails the query. `DISCARD` drops the message and counts "
        "it in the log. `CONSUME` returns one row with the encrypted payload.",
        default="FAIL",
        aliases=("pulsar.reader.cryptoFailureAction",),
    )

    def check_batch(self) -> None:
        """Raise `OptionError` if an option is set that only streams support."""
        if self.subscription_name is not None:
            raise OptionError(
                "option 'subscriptionName' is set for a batch read: expected it only for a stream, which acknowledges "
                "messages after each micro-batch; leave the option out, or use spark.readStream"
            )

    def check_no_limit(self) -> None:
        """Raise `OptionError` if `limit` is set.

        Streams need this check, because a limit would drop rows of each micro-batch.
        """
        if self.limit is not None:
            raise OptionError(
                "option 'limit' is set for a stream: expected it only for a batch; leave it out, and limit "
                "micro-batches with maxRecordsPerTrigger"
            )

    def __post_init__(self) -> None:
        exactly_one(self, ("topic", "topics", "topics_pattern"))
        if self.replicate_subscription_state and self.subscription_name is None:
            raise OptionError(
                "option 'pulsar.consumer.replicateSubscriptionState' needs a subscription: expected subscriptionName, "
                "got none; set subscriptionName"
            )
        super().__post_init__()
        at_most_one(
            self,
            (
                "starting_offsets",
                "starting_subscription",
                "starting_timestamp",
                "starting_offsets_by_timestamp",
            ),
        )
        self.check_limits()
        at_most_one(
            self,
            (
                "ending_offsets",
                "ending_timestamp",
                "ending_offsets_by_timestamp",
                "ending_event_time",
                "ending_offsets_by_event_time",
            ),
        )
        self.check_times()
