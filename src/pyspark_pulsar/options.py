"""Every option once: its key, default, type and meaning. Parsed once, at the edge, on the driver.

Spark hands options over as strings with case-insensitive keys. An option that is unknown, given twice
under two names, or malformed is an `OptionError`; a near miss gets a suggestion. The tables in
docs/options.md are generated from the fields below (`OptionField.doc`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from pyspark_pulsar.errors import OptionError

T = TypeVar("T", bound="ConnectionOptions")

_PROTOBUF_MESSAGE = "Full name of the message in `protobufDescriptorFile`, such as `shop.v1.Order`."

# Spark hands its own options of a streaming query over with ours.
_OPTIONS_OF_SPARK = frozenset({"checkpointlocation", "queryname"})


@dataclass(frozen=True, slots=True)
class OptionField:
    """How one option is spelled, read and explained."""

    key: str
    parse: Callable[[str], Any]
    doc: str
    aliases: tuple[str, ...] = ()


def _option(
    key: str,
    parse: Callable[[str], Any],
    doc: str,
    *,
    default: Any = MISSING,
    aliases: tuple[str, ...] = (),
) -> Any:
    metadata = {"option": OptionField(key, parse, doc, aliases)}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def _url(*schemes: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        text = value.strip().rstrip("/")
        scheme, separator, rest = text.partition("://")
        if not separator or scheme not in schemes or not rest:
            raise ValueError(" or ".join(f"{scheme}://host:port" for scheme in schemes))
        return text

    return parse


def _names(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise ValueError("a comma-separated list of names")
    return names


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return number

    return parse


def _choice(*choices: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        for choice in choices:
            if value.strip().lower() == choice.lower():
                return choice
        raise ValueError("one of " + ", ".join(choices))

    return parse


def _yes_or_no(value: str) -> bool:
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def _paths_by_name(value: str) -> tuple[tuple[str, str], ...]:
    try:
        paths = json.loads(value)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, dict) or not all(isinstance(path, str) and path for path in paths.values()):
        raise ValueError('a JSON object from key name to path, such as {"orders-key": "/keys/orders.pem"}')
    return tuple(paths.items())


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """How to reach Pulsar; the same for reading and writing."""

    service_url: str = _option(
        "service.url",
        _url("pulsar"),
        "Address of the brokers or the proxy; several hosts as `pulsar://host1:6650,host2:6650`.",
        aliases=("serviceUrl",),
    )
    admin_url: str | None = _option(
        "admin.url",
        _url("http", "https"),
        "Address of the admin REST API. Reading and writing need only `service.url`.",
        default=None,
        aliases=("adminUrl",),
    )
    connection_timeout_ms: int = _option(
        "pulsar.client.connectionTimeoutMs",
        _whole(1, 600_000),
        "How long one attempt to connect may take, in milliseconds.",
        default=10_000,
    )
    operation_timeout_ms: int = _option(
        "pulsar.client.operationTimeoutMs",
        _whole(1, 600_000),
        "How long one request to a broker may take, retries included, in milliseconds.",
        default=30_000,
    )


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ConnectionOptions):
    """`spark.read` and `spark.readStream`."""

    topic: str | None = _option(
        "topic", _text, "One topic. Exactly one of the three topic options.", default=None
    )
    topics: tuple[str, ...] | None = _option(
        "topics", _names, "Several topics, separated by commas.", default=None, aliases=("subscribe",)
    )
    topics_pattern: str | None = _option(
        "topicsPattern",
        _text,
        "Regular expression that a full topic name (`persistent://tenant/namespace/name`) or the part behind "
        "`persistent://` must match as a whole; the tenant and the namespace are plain text.",
        default=None,
        aliases=("subscribePattern",),
    )
    starting_offsets: str | None = _option(
        "startingOffsets",
        _text,
        "`earliest`, `latest`, or JSON from topic partition to `ledger:entry[:batchIndex]`, inclusive. "
        "Default: `earliest` for a batch, `latest` for a stream. Only for a new query: a checkpoint wins.",
        default=None,
    )
    ending_offsets: str | None = _option(
        "endingOffsets",
        _text,
        "Batch only: `latest` (default), or JSON as in `startingOffsets`, exclusive.",
        default=None,
    )
    columns: tuple[str, ...] | None = _option(
        "columns",
        _names,
        "The columns to read, in this order; `*` stands for all value columns. What is not named is not decoded. "
        "Default: all value columns and six metadata columns.",
        default=None,
    )
    mode: str = _option(
        "mode",
        _choice("FAILFAST", "PERMISSIVE", "DROPMALFORMED"),
        "What to do with a message whose value does not decode: fail, give a row without a value and with the "
        "message's bytes in the column of `columnNameOfCorruptRecord`, or leave it out. Damaged entries always fail.",
        default="FAILFAST",
    )
    corrupt_column: str = _option(
        "columnNameOfCorruptRecord",
        _text,
        "Name of the column that `mode=PERMISSIVE` adds for the bytes of messages that do not decode.",
        default="_corrupt_record",
    )
    different_schemas: bool = _option(
        "allowDifferentTopicSchemas",
        _yes_or_no,
        "Read topics of different schemas together: one column `value` with the message's bytes, and "
        "`__schemaVersion` among the default columns.",
        default=False,
    )
    batch_rows: int = _option(
        "batchRows",
        _whole(1, 1_000_000),
        "Most rows of one Arrow batch that a task hands to Spark; bounds a task's memory.",
        default=16_384,
    )
    receiver_queue_size: int = _option(
        "pulsar.consumer.receiverQueueSize",
        _whole(1, 1_000_000),
        "Messages that the broker may send ahead of the reader.",
        default=20_000,
        aliases=("pulsar.reader.receiverQueueSize",),
    )
    poll_timeout_ms: int = _option(
        "pollTimeoutMs",
        _whole(1, 86_400_000),
        "How long a task waits for the next message of its range before it fails, in milliseconds.",
        default=120_000,
    )
    read_compacted: bool = _option(
        "readCompacted",
        _yes_or_no,
        "Read the compacted view of the topic: of each key the latest message, as far as the topic is "
        "compacted, and all messages behind that.",
        default=False,
        aliases=("pulsar.reader.readCompacted", "pulsar.consumer.readCompacted"),
    )
    max_pending_chunked_message: int = _option(
        "pulsar.consumer.maxPendingChunkedMessage",
        _whole(0, 1_000_000),
        "Chunked messages that a task keeps chunks of at the same time; 0 is no limit. Above it the oldest is "
        "let go, and read again when its last chunk comes.",
        default=10,
        aliases=("pulsar.reader.maxPendingChunkedMessage",),
    )
    crypto_default_private_key: str | None = _option(
        "pulsar.consumer.cryptoKeyReader.defaultPrivateKey",
        _text,
        "Path, on the executors, of the RSA private key (PEM) for encrypted messages whose key name is not in "
        "`pulsar.consumer.cryptoKeyReader.privateKeys`.",
        default=None,
        aliases=("pulsar.reader.cryptoKeyReader.defaultPrivateKey",),
    )
    crypto_private_keys: tuple[tuple[str, str], ...] = _option(
        "pulsar.consumer.cryptoKeyReader.privateKeys",
        _paths_by_name,
        "JSON object from the name of an encryption key to the path, on the executors, of its RSA private key (PEM).",
        default=(),
        aliases=("pulsar.reader.cryptoKeyReader.privateKeys",),
    )
    crypto_failure_action: str = _option(
        "pulsar.consumer.cryptoFailureAction",
        _choice("FAIL", "DISCARD", "CONSUME"),
        "What becomes of a message that cannot be decrypted: `FAIL` (default) fails the query, `DISCARD` drops "
        "it and counts it in the log, `CONSUME` gives one row with the encrypted payload.",
        default="FAIL",
        aliases=("pulsar.reader.cryptoFailureAction",),
    )

    protobuf_descriptor_file: str | None = _option(
        "protobufDescriptorFile",
        _text,
        "Path on the driver of a file of `protoc --include_imports --descriptor_set_out`: what the messages of a "
        "topic with a `PROTOBUF` schema are, or of one without schema.",
        default=None,
    )
    protobuf_message: str | None = _option("protobufMessage", _text, _PROTOBUF_MESSAGE, default=None)

    def __post_init__(self) -> None:
        _exactly_one(self, ("topic", "topics", "topics_pattern"))
        _both_or_none(self, ("protobuf_descriptor_file", "protobuf_message"))


@dataclass(frozen=True, kw_only=True)
class WriteOptions(ConnectionOptions):
    """`df.write` and `df.writeStream`."""

    topic: str = _option("topic", _text, "The topic to write to.")
    value_format: str | None = _option(
        "valueFormat",
        _choice("avro", "json", "protobuf"),
        "Schema to register for rows when the topic has none: `avro` (default), `json` or `protobuf`.",
        default=None,
    )
    key_value_encoding: str | None = _option(
        "keyValueEncoding",
        _choice("inline", "separated"),
        "Register the columns `key` and `value` as a KEY_VALUE schema when the topic has none: `inline` writes "
        "both into the payload, `separated` makes `key` the message's key. Structs are records in `valueFormat`.",
        default=None,
    )
    compression_type: str = _option(
        "pulsar.producer.compressionType",
        _choice("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"),
        "Codec of the batched entries.",
        default="LZ4",
    )
    batching_max_messages: int = _option(
        "pulsar.producer.batchingMaxMessages",
        _whole(1, 100_000),
        "Most messages of one batched entry.",
        default=1_000,
    )
    batching_max_bytes: int = _option(
        "pulsar.producer.batchingMaxBytes",
        _whole(1, 64 * 1024 * 1024),
        "Most bytes of one batched entry before compression.",
        default=128 * 1024,
    )
    max_pending_bytes: int = _option(
        "maxPendingBytes",
        _whole(1, 2**40),
        "Bytes that one task keeps sent but not yet confirmed; sending waits above it.",
        default=32 * 1024 * 1024,
    )
    send_timeout_ms: int = _option(
        "pulsar.producer.sendTimeoutMs",
        _whole(1, 3_600_000),
        "How long a sent entry may stay unconfirmed before the task fails, reconnects included, in milliseconds.",
        default=30_000,
    )
    protobuf_descriptor_file: str | None = _option(
        "protobufDescriptorFile",
        _text,
        "Path on the driver of a file of `protoc --include_imports --descriptor_set_out`: what the messages of a "
        "topic with a `PROTOBUF` schema are; registered as `PROTOBUF_NATIVE` where the topic has no schema.",
        default=None,
    )
    protobuf_message: str | None = _option("protobufMessage", _text, _PROTOBUF_MESSAGE, default=None)

    def __post_init__(self) -> None:
        _both_or_none(self, ("protobuf_descriptor_file", "protobuf_message"))


def option_fields(scope: type[ConnectionOptions]) -> dict[str, OptionField]:
    """Field name to option, in the order in which the documentation shows them."""
    return {each.name: each.metadata["option"] for each in fields(scope)}


def parse_options(scope: type[T], given: Mapping[str, str]) -> T:
    """Read `given` as the options of `scope`. Raises `OptionError` naming every fault's key."""
    by_key: dict[str, str] = {}
    for name, option in option_fields(scope).items():
        for key in (option.key, *option.aliases):
            by_key[key.lower()] = name
    values: dict[str, Any] = {}
    seen: dict[str, str] = {}
    for key, text in given.items():
        if key.lower() in _OPTIONS_OF_SPARK:
            continue
        field_name = by_key.get(key.lower())
        if field_name is None:
            raise OptionError(_unknown(key, scope))
        if field_name in seen:
            raise OptionError(f"options {seen[field_name]!r} and {key!r} mean the same; give one of them")
        seen[field_name] = key
        option = option_fields(scope)[field_name]
        try:
            values[field_name] = option.parse(str(text))
        except ValueError as fault:
            raise OptionError(f"option {option.key!r}: expected {fault}, got {text!r}") from None
    for each in fields(scope):
        if each.name not in values and each.default is MISSING:
            option = option_fields(scope)[each.name]
            raise OptionError(f"option {option.key!r} is missing: {option.doc}")
    return scope(**values)


def _unknown(key: str, scope: type[ConnectionOptions]) -> str:
    known = [key for option in option_fields(scope).values() for key in (option.key, *option.aliases)]
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), lowered, n=1, cutoff=0.6)
    hint = f"did you mean {lowered[close[0]]!r}?" if close else "known are " + ", ".join(sorted(known))
    return f"unknown option {key!r}; {hint}"


def _exactly_one(options: ConnectionOptions, names: Iterable[str]) -> None:
    table = option_fields(type(options))
    keys = [table[name].key for name in names]
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if len(given) != 1:
        found = "none of them" if not given else " and ".join(given)
        raise OptionError(f"expected exactly one of the options {', '.join(keys)}, got {found}")


def _both_or_none(options: ConnectionOptions, names: Iterable[str]) -> None:
    table = option_fields(type(options))
    missing = [table[name].key for name in names if getattr(options, name) is None]
    given = [table[name].key for name in names if getattr(options, name) is not None]
    if missing and given:
        raise OptionError(f"expected the option {missing[0]} beside {given[0]}, got {given[0]} alone")
