"""How producers send: entries, chunks, routing, encryption. By the names of Pulsar's own producer settings."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options.fields import option
from pyspark_pulsar.options.parsers import choice, names, paths_by_name, text, whole, yes_or_no
from pyspark_pulsar.options.protobuf import ProtobufOptions


@dataclass(frozen=True, kw_only=True)
class ProducerOptions(ProtobufOptions):
    """What `df.write` and `df.writeStream` tell every producer."""

    batching: str = option(
        "batching",
        choice("default", "key"),
        "What shares an entry: messages that follow each other (`default`), or only messages of one ordering key, "
        "or key (`key`), which Key_Shared subscriptions need.",
        default="default",
    )
    batching_enabled: bool = option(
        "pulsar.producer.batchingEnabled",
        yes_or_no,
        "Whether messages share entries at all.",
        default=True,
    )
    compression_type: str = option(
        "pulsar.producer.compressionType",
        choice("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"),
        "Codec of the entries.",
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
    batching_max_publish_delay_micros: int | None = option(
        "pulsar.producer.batchingMaxPublishDelayMicros",
        whole(1, 3_600_000_000),
        "How long a task may hold rows back to fill entries with those of its next record batches, in microseconds. "
        "By default it holds none back: rows share entries with those of their own record batch.",
        default=None,
    )
    chunking_enabled: bool = option(
        "pulsar.producer.chunkingEnabled",
        yes_or_no,
        "Cut messages that are larger than the broker takes into chunks, instead of failing.",
        default=False,
    )
    chunk_max_message_size: int | None = option(
        "pulsar.producer.chunkMaxMessageSize",
        whole(1, 2**31 - 1),
        "Most bytes of a chunk with its metadata, where that is less than the broker takes; needs "
        "`pulsar.producer.chunkingEnabled`.",
        default=None,
    )
    hashing_scheme: str = option(
        "pulsar.producer.hashingScheme",
        choice("JavaStringHash", "Murmur3_32Hash"),
        "Hash by which a key finds its partition. The Java client's default is `JavaStringHash`; all producers of a "
        "topic must have the same.",
        default="JavaStringHash",
    )
    encryption_keys: tuple[str, ...] = option(
        "pulsar.producer.encryptionKeys",
        names,
        "Names of the key pairs that messages are encrypted for, comma-separated; needs their public keys.",
        default=(),
    )
    crypto_default_public_key: str | None = option(
        "pulsar.producer.cryptoKeyReader.defaultPublicKey",
        text,
        "Path, on the executors, of the RSA public key (PEM) for names that are not in "
        "`pulsar.producer.cryptoKeyReader.publicKeys`.",
        default=None,
    )
    crypto_public_keys: tuple[tuple[str, str], ...] = option(
        "pulsar.producer.cryptoKeyReader.publicKeys",
        paths_by_name,
        "JSON object from the name of an encryption key to the path, on the executors, of its RSA public key (PEM).",
        default=(),
    )
    producer_name: str | None = option(
        "pulsar.producer.producerName",
        text,
        "Name of the producer, for broker deduplication by the sequence ids that rows give in column `__sequenceId`. "
        "One Spark task must write all rows, in the order of their ids; each row has an entry of its own.",
        default=None,
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batching == "key" and not self.batching_enabled:
            raise OptionError(
                "option 'batching' is key, and pulsar.producer.batchingEnabled is false: expected "
                "pulsar.producer.batchingEnabled=true beside it; leave one of them out"
            )
        if self.chunk_max_message_size is not None and not self.chunking_enabled:
            raise OptionError(
                "option 'pulsar.producer.chunkMaxMessageSize' is given alone: expected "
                "pulsar.producer.chunkingEnabled=true beside it; set that too"
            )
        self._check_producer_name()
        self._check_keys()

    def _check_producer_name(self) -> None:
        if self.producer_name is None:
            return
        if self.chunking_enabled:
            raise OptionError(
                "option 'pulsar.producer.producerName' contradicts pulsar.producer.chunkingEnabled: "
                "brokers can take the last chunk of a message for a duplicate of the others, which have its sequence "
                "id. Leave one of them out"
            )
        if self.batching == "key":
            raise OptionError(
                "option 'pulsar.producer.producerName' contradicts batching=key, which changes the order of rows; "
                "leave one of them out"
            )

    def _check_keys(self) -> None:
        known = dict(self.crypto_public_keys)
        if (known or self.crypto_default_public_key) and not self.encryption_keys:
            raise OptionError(
                "option 'pulsar.producer.encryptionKeys' is missing: expected the names of the keys to encrypt for "
                "beside pulsar.producer.cryptoKeyReader.*, got public keys alone"
            )
        if self.crypto_default_public_key is not None:
            return
        lacking = [name for name in self.encryption_keys if name not in known]
        if lacking:
            raise OptionError(
                f"option 'pulsar.producer.encryptionKeys' names {', '.join(lacking)} without a public key: expected "
                f"one for each name; give it in pulsar.producer.cryptoKeyReader.publicKeys"
            )
