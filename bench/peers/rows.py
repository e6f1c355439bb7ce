"""The rows of bench/peers: what each holds, as SQL that makes them and as Arrow that is ready.

A row is known by its number; its content repeats every `PERIOD` rows, so that a source may have it ready.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

import pyarrow as pa

PERIOD: Final = 10_000
PARTITIONS: Final = 4
FORMATS: Final = ("json", "avro", "bytes")
_SECOND: Final = 1_800_000_000
_EVENT: Final = 1_700_000_000
_KEYS: Final = 1000

_METADATA_SQL: Final = {
    "__key": f"concat('key-', n % {_KEYS})",
    "__eventTime": f"timestamp_seconds({_EVENT} + n)",
}
_VALUE_SQL: Final = {
    "id": "n",
    "customer": "concat('customer-', lpad(CAST(n * 7919 % 100000 AS STRING), 6, '0'))",
    "amount": "n / 4D",  # sums of quarters are exact in any order
    "at": f"({_SECOND} + n) * 1000",
    "tag": "concat('tag-', n % 50)",
    "paid": "n % 2 = 0",
}
_BYTES_SQL: Final = (
    "CAST(concat(sha2(CAST(n AS STRING), 256), left(sha2(CAST(n + 1 AS STRING), 256), 36)) AS BINARY)"
)

_VALUES: Final = {
    "id": "bigint", "customer": "string", "amount": "double", "at": "bigint", "tag": "string", "paid": "boolean",
}  # fmt: skip
_METADATA: Final = {
    "__key": "string",
    "__topic": "string",
    "__messageId": "struct<ledger: bigint, entry: bigint, batchIndex: int, partition: int>",
    "__publishTime": "timestamp",
    "__eventTime": "timestamp",
    "__messageProperties": "map<string, string>",
}


def written(value_format: str) -> list[str]:
    """What a topic of this format is written from, for `selectExpr` over a column `n` below `PERIOD`."""
    values = {"value": _BYTES_SQL} if value_format == "bytes" else _VALUE_SQL
    return [f"{sql} AS {name}" for name, sql in (values | _METADATA_SQL).items()]


def value_columns(value_format: str) -> dict[str, str]:
    """Name to type."""
    return {"value": "binary"} if value_format == "bytes" else dict(_VALUES)


def columns(value_format: str) -> dict[str, str]:
    """Those that both connectors give: of value and of metadata. Name to the type that this package gives it."""
    return value_columns(value_format) | _METADATA


@cache
def ready(value_format: str) -> pa.RecordBatch:
    """All columns of the first `PERIOD` rows, made once in a process."""
    numbers = range(PERIOD)
    if value_format == "bytes":
        values = {"value": pa.array([_value(number) for number in numbers], pa.binary())}
    else:
        values = {
            "id": pa.array(numbers, pa.int64()),
            "customer": pa.array([f"customer-{number * 7919 % 100_000:06d}" for number in numbers]),
            "amount": pa.array([number / 4 for number in numbers]),
            "at": pa.array([(_SECOND + number) * 1000 for number in numbers]),
            "tag": pa.array([f"tag-{number % 50}" for number in numbers]),
            "paid": pa.array([number % 2 == 0 for number in numbers]),
        }
    return pa.record_batch(values | _metadata(value_format))


def _metadata(value_format: str) -> dict[str, pa.Array]:
    numbers = range(PERIOD)
    instant = pa.timestamp("us", "UTC")
    message_id = pa.struct(
        {"ledger": pa.int64(), "entry": pa.int64(), "batchIndex": pa.int32(), "partition": pa.int32()}
    )
    ids = [
        {"ledger": 1, "entry": number // 1000, "batchIndex": number % 1000, "partition": 0}
        for number in numbers
    ]
    return {
        "__key": pa.array([f"key-{number % _KEYS}" for number in numbers]),
        "__topic": pa.array([topic_name(value_format, 0)] * PERIOD),
        "__messageId": pa.array(ids, message_id),
        "__publishTime": pa.array([_EVENT * 1_000_000] * PERIOD, instant),
        "__eventTime": pa.array([(_EVENT + number) * 1_000_000 for number in numbers], instant),
        "__messageProperties": pa.array([[]] * PERIOD, pa.map_(pa.string(), pa.string())),
    }


def topic_name(value_format: str, rows: int) -> str:
    return f"persistent://public/default/{value_format}-{rows:09d}"


def _value(number: int) -> bytes:
    digests = [hashlib.sha256(str(each).encode()).hexdigest() for each in (number, number + 1)]
    return (digests[0] + digests[1][:36]).encode()
