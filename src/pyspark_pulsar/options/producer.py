"""Options of producers: entries, chunks, routing and encryption. Names follow Pulsar's producer settings."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import choice, names, paths_by_name, text, whole, yes_or_no
from pyspark_pulsar.options.protobuf import ProtobufOptions


@dataclass(frozen=True, kw_only=True)
class ProducerOptions(ProtobufOptions):
    """The settings of every producer of a write."""

    batching: str = option(
        "batching",
        choice("default", "key"),
        "Which messages share a batched entry. `default`: consecutive messages. `key`: only messages with the same "
        "ordering key or key, which Key_Shared subscriptions need.",
        default="default",
    )
    batching_enabled: bool = option(
        "pulsar.producer.batchingEnabled",
        yes_or_no,
        "Batch several messages into one entry.",
        default=True,
    )
    compression_type: str = option(
        "pulsar.producer.compressionType",
        choice("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"),
        "Compression of the entries.",
        default="LZ4",
    )
    batching_max_messages: int = option(
        "pulsar.producer.batchingMaxMessages",
        whole(1, 100_000),
        "Maximum number of messages in one batched entry.",
        default=1_000,
    )
    batching_max_bytes: int = option(
        "pulsar.producer.batchingMaxBytes",
        whole(1, 64 * 1024 * 1024),
        "Maximum size of one batched entry before compression, in bytes.",
        default=128 * 1024,
    )
    batching_max_publish_delay_micros: int | None = option(
        "pulsar.producer.batchingMaxPublishDelayMicros",
        whole(1, 3_600_000_000),
        "Maximum time for which a task delays rows, to fill entries with rows of its next record batches, in "
        "microseconds.",
        default=None,
        unset="no delay: only rows of the same record batch share entries",
    )
    chunking_enabled: bool = option(
        "pulsar.producer.chunkingEnabled",
        yes_or_no,
        "Split a message that exceeds the broker's limit into chunks. With `false`, such a message fails the write.",
        default=False,
    )
    chunk_max_message_size: int | None = option(
        "pulsar.producer.chunkMaxMessageSize",
        whole(1, 2**31 - 1),
        "Maximum size of a chunk with its metadata, in bytes. Needs `pulsar.producer.chunkingEnabled`.",
        default=None,
        unset="the broker's limit",
    )
    hashing_scheme: str = option(
        "pulsar.producer.hashingScheme",
        choice("JavaStringHash", "Murmur3_32Hash"),
        "Hash that maps a key to a partition. All producers of a topic must use the same hash. `JavaStringHash` is "
        "also the default of the Java client.",
        default="JavaStringHash",
    )
    encryption_keys: tuple[str, ...] = option(
        "pulsar.producer.encryptionKeys",
        names,
        "Names of the key pairs for which messages are encrypted, separated by commas. Each name needs a public key.",
        default=(),
        unset="no encryption",
    )
    crypto_default_public_key: str | None = option(
        "pulsar.producer.cryptoKeyReader.defaultPublicKey",
        text("a path such as /keys/default.pem"),
        "Path of an RSA public key (PEM) on the executors, for key names without an entry in "
        "`pulsar.producer.cryptoKeyReader.publicKeys`.",
        default=None,
        unset="none",
    )
    crypto_public_keys: tuple[tuple[str, str], ...] = option(
        "pulsar.producer.cryptoKeyReader.publicKeys",
        paths_by_name,
        "Paths of the RSA public keys (PEM) on the executors, as a JSON object by key name.",
        default=(),
        unset="none",
    )
    producer_name: str | None = option(
        "pulsar.producer.producerName",
        text("a name such as orders-export"),
        "Name of the producer, for the broker's deduplication by the sequence ids in column `__sequenceId`. One Spark "
        "task must write all rows, in the order of their sequence ids. Each row becomes an entry of its own.",
        default=None,
        unset="the broker generates a name, and does not deduplicate rows by sequence ids",
    )
    max_pending_bytes: int = option(
        "maxPendingBytes",
        whole(1, 2**40),
        "Maximum size of the messages of one task that the broker has not confirmed, in bytes. Above the limit, "
        "sending waits.",
        default=32 * 1024 * 1024,
    )
    send_timeout_ms: int = option(
        "pulsar.producer.sendTimeoutMs",
        whole(1, 3_600_000),
        "Timeout for the confirmation of an entry by the broker, including reconnects, in milliseconds. When it "
        "expires, the task fails.",
        default=30_000,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batching == "key" and not self.batching_enabled:
            raise OptionError(
                "option 'batching' is key, and pulsar.producer.batchingEnabled is false: expected "
                "pulsar.producer.batchingEnabled=true; remove one of the options"
            )
        if self.chunk_max_message_size is not None and not self.chunking_enabled:
            raise OptionError(
                "option 'pulsar.producer.chunkMaxMessageSize' needs pulsar.producer.chunkingEnabled=true, got false; "
                "set both, or leave out chunkMaxMessageSize"
            )
        self._check_producer_name()
        self._check_keys()

    def _check_producer_name(self) -> None:
        if self.producer_name is None:
            return
        if self.chunking_enabled:
            raise OptionError(
                "option 'pulsar.producer.producerName' conflicts with pulsar.producer.chunkingEnabled. The chunks of a "
                "message share a sequence id, so a broker may drop the last chunk as a duplicate; remove one of the "
                "options"
            )
        if self.batching == "key":
            raise OptionError(
                "option 'pulsar.producer.producerName' conflicts with batching=key, because batching by key changes "
                "the order of rows; remove one of the options"
            )

    def _check_keys(self) -> None:
        known = dict(self.crypto_public_keys)
        if (known or self.crypto_default_public_key) and not self.encryption_keys:
            raise OptionError(
                "option 'pulsar.producer.encryptionKeys' is missing: expected the names of keys together with "
                "pulsar.producer.cryptoKeyReader.*, got public keys alone; set both or none"
            )
        if self.crypto_default_public_key is not None:
            return
        lacking = [name for name in self.encryption_keys if name not in known]
        if lacking:
            raise OptionError(
                f"option 'pulsar.producer.encryptionKeys' names {', '.join(lacking)} without a public key: expected "
                f"one for each name; add the paths to pulsar.producer.cryptoKeyReader.publicKeys"
            )
