"""The options of `spark.read` and `spark.readStream`."""

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
    """`spark.read` and `spark.readStream`."""

    topic: str | None = option(
        "topic",
        topic_name,
        "One topic. Exactly one of the three topic options. A full name with blanks at its ends is given as a text of "
        "JSON, with quotation marks.",
        default=None,
    )
    topics: tuple[str, ...] | None = option(
        "topics",
        topic_names,
        "Several topics, separated by commas, or as a JSON array, in which a name may have commas and blanks at its "
        "ends.",
        default=None,
        aliases=("subscribe",),
    )
    topics_pattern: TopicPattern | None = option(
        "topicsPattern",
        topic_pattern,
        "Regular expression that a full topic name (`persistent://tenant/namespace/name`) or the part behind "
        "`persistent://` must match as a whole; the tenant is plain text, and so is the namespace without `admin.url`.",
        default=None,
        aliases=("subscribePattern",),
    )
    discovery_interval_ms: int = option(
        "discoveryIntervalMs",
        whole(0, 86_400_000),
        "Stream only: how long a stream may go without looking for new topics and partitions, in milliseconds. "
        "Default: it looks at every trigger.",
        default=0,
        aliases=("partitionDiscoveryIntervalMs", "pulsar.source.partitionDiscoveryIntervalMs"),
    )
    waiting_for_non_existed_topic: bool = option(
        "waitingForNonExistedTopic",
        yes_or_no,
        "Where a topic that is named does not exist, or a pattern matches none, wait for it up to `pollTimeoutMs` when "
        "the query is made, instead of failing at once.",
        default=False,
    )
    starting_offsets: OffsetBound | None = option(
        "startingOffsets",
        offset_bound("startingOffsets", LogSide.EARLIEST, LogSide.LATEST),
        "`earliest`, `latest`, or JSON from topic partition to one of them or `ledger:entry[:batchIndex]`, inclusive; "
        "`*` names all that are not named otherwise, `earliest` or `latest`. "
        "Default: `earliest` for a batch, `latest` for a stream. Only for a new query: a checkpoint wins.",
        default=None,
    )
    starting_subscription: str | None = option(
        "startingSubscription",
        text,
        "Start where this durable subscription stands: behind the last message up to which all are acknowledged. It is "
        "only looked at. Only for a new query: a checkpoint wins.",
        default=None,
    )
    ending_offsets: OffsetBound | None = option(
        "endingOffsets",
        offset_bound("endingOffsets", LogSide.LATEST),
        "`latest`, or JSON as in `startingOffsets`, exclusive. Default: `latest` for a batch, no end for a stream.",
        default=None,
    )
    columns: tuple[str, ...] | None = option(
        "columns",
        names,
        "The columns to read, in this order; `*` stands for all value columns. What is not named is not decoded. "
        "Default: all value columns and six metadata columns.",
        default=None,
    )
    recursive_depth: int | None = option(
        "recursiveFieldMaxDepth",
        whole(1, 15),
        "How often a record or message that contains itself is shown on the way to a column, in Avro, JSON and "
        "Protobuf, as Spark's own readers count (`recursive.fields.max.depth` of `from_protobuf`): 1 leaves out the "
        "fields that repeat what is around them, 2 shows them once. What lies deeper is not shown, and null in unions. "
        "Default: 1, with a warning that names what is left out.",
        default=None,
        aliases=("recursive.fields.max.depth",),
    )
    mode: str = option(
        "mode",
        choice("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        "What to do with a message whose value does not decode: fail, give a row without a value and with the "
        "message's bytes in the column of `columnNameOfCorruptRecord`, or leave it out. Damaged entries always fail.",
        default="FAILFAST",
    )
    corrupt_column: str = option(
        "columnNameOfCorruptRecord",
        text,
        "Name of the column that `mode=PERMISSIVE` adds for the bytes of messages that do not decode.",
        default="_corrupt_record",
    )
    different_schemas: bool = option(
        "allowDifferentTopicSchemas",
        yes_or_no,
        "Read topics of different schemas together: one column `value` with the message's bytes, and "
        "`__schemaVersion` among the default columns.",
        default=False,
    )
    different_topics: bool = option(
        "allowDifferentTopics",
        yes_or_no,
        "Stream only: whether a checkpoint may be used by a query that does not read all topics which it holds. What "
        "is not yet read of the others is left, and their positions are forgotten.",
        default=False,
    )
    batch_rows: int = option(
        "batchRows",
        whole(1, 1_000_000),
        "Most rows of one Arrow batch that a task hands to Spark; bounds a task's memory.",
        default=16_384,
    )
    columnar_reads: bool = option(
        "columnarReads",
        yes_or_no,
        "Hand record batches to Spark as columns, where the session has the jar; otherwise Spark first makes a "
        "row of each message, which costs more than to decode it. The rows are the same.",
        default=True,
    )
    changes: str | None = option(
        "changes",
        json_document,
        "JSON object with the `key` column of a table, or null, and whether it is the messages' own key (`separated`): "
        "rows are changes of the table, with `_change_type` and its like. The catalog sets it for `CHANGES`.",
        default=None,
    )
    limit: int | None = option(
        "limit",
        whole(0, 2_147_483_647),
        "Batch only: each task ends when it has so many rows, and reads little more; which these are, nobody says. In "
        "a session with the jar a query's `LIMIT` sets it by itself, also that of `head` and `isEmpty`, where no "
        "filter stands between.",
        default=None,
    )
    receiver_queue_size: int = option(
        "pulsar.consumer.receiverQueueSize",
        whole(1, 1_000_000),
        "Messages that the broker may send ahead of the reader.",
        default=50_000,
        aliases=("pulsar.reader.receiverQueueSize",),
    )
    consumers_per_split: int = option(
        "consumersPerSplit",
        whole(1, 16),
        "Most consumers that a task opens at a time on what it reads through the broker, each at a part of its own: "
        "brokers serve a single one slowly where entries are small. Rows come in the same order.",
        default=4,
    )
    poll_timeout_ms: int = option(
        "pollTimeoutMs",
        whole(1, 86_400_000),
        "How long a task waits for the next message of its range before it fails, connecting included, in "
        "milliseconds; how long brokers may be away before a stream fails; and how long `waitingForNonExistedTopic` "
        "waits.",
        default=120_000,
    )
    subscription_name: str | None = option(
        "subscriptionName",
        text,
        "Stream only: a durable subscription, made where there is none, whose cursor follows the query: what Spark "
        "has committed is acknowledged, and what is not yet read is kept. It is never read from. Default: none, and "
        "nothing is left behind in Pulsar.",
        default=None,
        aliases=("predefinedSubscription",),
    )
    replicate_subscription_state: bool = option(
        "pulsar.consumer.replicateSubscriptionState",
        yes_or_no,
        "Beside `subscriptionName`: the clusters that the topics are replicated to have the subscription too, so that "
        "a query can start there with `startingSubscription`. The driver reads a part of the messages for it.",
        default=False,
    )
    lag_interval_ms: int = option(
        "lagIntervalMs",
        whole(0, 86_400_000),
        "Stream only: how often at most a query measures how far it is behind, in milliseconds; 0 is at each trigger.",
        default=10_000,
    )
    read_compacted: bool = option(
        "readCompacted",
        yes_or_no,
        "Read the compacted view of the topic: of each key the latest message, as far as the topic is "
        "compacted, and all messages behind that.",
        default=False,
        aliases=("pulsar.reader.readCompacted", "pulsar.consumer.readCompacted"),
    )
    max_pending_chunked_message: int = option(
        "pulsar.consumer.maxPendingChunkedMessage",
        whole(0, 1_000_000),
        "Chunked messages that a task keeps chunks of at the same time; 0 is no limit. Above it the oldest is "
        "let go, and read again when its last chunk comes.",
        default=10,
        aliases=("pulsar.reader.maxPendingChunkedMessage",),
    )
    max_uncompressed_message_size: int | None = option(
        "maxUncompressedMessageSize",
        whole(1, 2**30),
        "Most bytes that the payload of one entry, or of one chunked message, may unpack to. What says that it is "
        "larger is not unpacked, but treated as a message that does not decode (`mode`). Default: 16 times its bytes "
        "as stored, and at least 80 MiB, 16 times the largest message that brokers take by default.",
        default=None,
    )
    crypto_default_private_key: str | None = option(
        "pulsar.consumer.cryptoKeyReader.defaultPrivateKey",
        path,
        "Path, on the executors, of the RSA private key (PEM) for encrypted messages whose key name is not in "
        "`pulsar.consumer.cryptoKeyReader.privateKeys`.",
        default=None,
        aliases=("pulsar.reader.cryptoKeyReader.defaultPrivateKey",),
        secret=True,
    )
    crypto_private_keys: tuple[tuple[str, str], ...] = option(
        "pulsar.consumer.cryptoKeyReader.privateKeys",
        paths_by_name,
        "JSON object from the name of an encryption key to the path, on the executors, of its RSA private key (PEM).",
        default=(),
        aliases=("pulsar.reader.cryptoKeyReader.privateKeys",),
        secret=True,
    )
    crypto_failure_action: str = option(
        "pulsar.consumer.cryptoFailureAction",
        choice("FAIL", "DISCARD", "CONSUME"),
        "What becomes of a message that cannot be decrypted: `FAIL` (default) fails the query, `DISCARD` drops "
        "it and counts it in the log, `CONSUME` gives one row with the encrypted payload.",
        default="FAIL",
        aliases=("pulsar.reader.cryptoFailureAction",),
    )

    def check_batch(self) -> None:
        """Raises `OptionError` for what only a stream can do."""
        if self.subscription_name is not None:
            raise OptionError(
                "option 'subscriptionName' is given to a batch read: expected only in a stream, which moves it on with "
                "each micro-batch; leave it out, or use spark.readStream"
            )

    def check_no_limit(self) -> None:
        """For a stream: raises `OptionError` for what would leave rows out of each micro-batch."""
        if self.limit is not None:
            raise OptionError(
                "option 'limit': expected only in a batch, got it in a stream, whose micro-batches are bounded by "
                "maxRecordsPerTrigger; leave it out"
            )

    def __post_init__(self) -> None:
        exactly_one(self, ("topic", "topics", "topics_pattern"))
        if self.replicate_subscription_state and self.subscription_name is None:
            raise OptionError(
                "option 'pulsar.consumer.replicateSubscriptionState' is given without a subscription: expected "
                "subscriptionName beside it"
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
