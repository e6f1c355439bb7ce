"""Speed of the kernel against `python_codec`: entries to Arrow and Arrow to entries, in one thread.

    make bench        (or: python bench/kernel_codec.py --rows 1000000 --repeat 3)

Messages have six fields, in LZ4 batches of 1000; every fourth has a key and two properties. All fifteen metadata
columns are built. Both competitors verify and write checksums. Before the timing, every cell of both results is
compared. Competitors run in turn; figures are medians. Absolute figures depend on the machine: read the ratios.

The memory of a decoder is measured too, for several numbers of rows and entries in a batch. Each measure runs in a
process of its own.
"""

from __future__ import annotations

import argparse
import base64
import gc
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import python_codec as python
from google.protobuf import descriptor_pb2
from kernel_build import kernel_build

from pyspark_pulsar._kernel import EntryBatch, SendFrames
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.errors import SchemaError
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.metadata_columns import FIELDS as METADATA
from pyspark_pulsar.schema.payload import with_times_as_numbers
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

RESULT = Path(__file__).parent / "results" / "kernel_codec.json"
TOPIC = "persistent://public/default/bench"
PUBLISHED = 1_795_230_103_082
MESSAGES = 1000
DISTINCT_ENTRIES = 100
PUSHED_AT_ONCE = 16  # Readers also receive a few entries at a time.
GOALS = {
    "decode JSON": 10,
    "decode AVRO": 25,
    "decode PROTOBUF_NATIVE": 10,
    "encode JSON": 30,
    "encode AVRO": 30,
}

WORK = {
    "decode, all": "verify CRC32C, parse metadata, decompress LZ4, parse each message's metadata, decode six value "
    "columns, build the fifteen metadata columns; the same Arrow table, compared cell by cell",
    "decode, the kernel alone": "check ranges, keep payloads to name the message that a later error is about",
    "encode, all": "six value columns, keys and properties to LZ4 batches of 1000 with metadata and CRC32C",
    "encode, the kernel alone": "route each row to a partition, write SEND commands around the entries",
}

_FIELDS = {"id": "long", "user": "string", "amount": "double", "ts": "long", "flag": "boolean"}
PLAIN = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": name, "type": _FIELDS.get(name, ["null", "string"])} for name in python.ORDER_COLUMNS
    ],
}
DOCUMENT = json.dumps(PLAIN).replace(
    '"name": "ts", "type": "long"',
    '"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}',
)


def table_of(rows: int) -> pa.RecordBatch:
    """Return made-up rows of a DataFrame; every run returns the same rows."""
    source = random.Random(20261121)
    numbers = range(rows)
    instant = pa.timestamp("us", tz="UTC")
    shared = [(f"source-{n % 7}", "eu") if n % 4 == 0 else None for n in numbers]
    columns = {
        "id": pa.array([source.getrandbits(62) for _ in numbers], pa.int64()),
        "user": pa.array([f"user-{source.randrange(100_000):06d}" for _ in numbers]),
        "amount": pa.array([round(source.uniform(0, 1000), 2) for _ in numbers]),
        "ts": pa.array([PUBLISHED + 7 * n for n in numbers], pa.int64())
        .cast(pa.timestamp("ms", tz="UTC"))
        .cast(instant),
        "tag": pa.array([None if n % 5 == 0 else f"tag-{n % 50}" for n in numbers], pa.string()),
        "flag": pa.array([source.random() < 0.5 for _ in numbers]),
        "__key": pa.array(
            [f"key-{n % 1000}".encode() if each else None for n, each in enumerate(shared)], pa.binary()
        ),
        "__messageProperties": pa.array(
            [[("origin", each[0]), ("region", each[1])] if each else [] for each in shared],
            METADATA["__messageProperties"].type,
        ),
    }
    return pa.RecordBatch.from_pydict(columns)


def schema_info(kind: SchemaType) -> SchemaInfo:
    if kind is not SchemaType.PROTOBUF_NATIVE:
        return SchemaInfo("Order", kind, DOCUMENT.encode(), version=bytes(8))
    file = descriptor_pb2.FileDescriptorProto()
    python.CLASSES["Order"].DESCRIPTOR.file.CopyToProto(file)
    files = descriptor_pb2.FileDescriptorSet(file=[python.TIMESTAMP_FILE, file]).SerializeToString()
    data = {
        "fileDescriptorSet": base64.b64encode(files).decode(),
        "rootMessageTypeName": "bench.Order",
        "rootFileDescriptorName": file.name,
    }
    return SchemaInfo("Order", kind, json.dumps(data).encode(), version=bytes(8))


PAYLOADS: dict[SchemaType, Callable[[dict[str, Any]], bytes]] = {
    SchemaType.JSON: orjson.dumps,
    SchemaType.AVRO: python.avro_payload(PLAIN),
    SchemaType.PROTOBUF_NATIVE: python.protobuf_payload,
}
DECODERS: dict[SchemaType, dict[str, python.Values]] = {
    SchemaType.JSON: {"orjson": python.json_values, "pyarrow.json": python.joined_json_values},
    SchemaType.AVRO: {"fastavro": python.avro_values(PLAIN)},
    SchemaType.PROTOBUF_NATIVE: {"protobuf upb": python.protobuf_values},
}


def batches(
    schema: ReadSchema, info: SchemaInfo, entries: list[python.Entry], batch_rows: int
) -> Iterator[pa.RecordBatch]:
    decoder = EntryDecoder(
        schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: info, batch_rows=batch_rows
    )
    for start in range(0, len(entries), PUSHED_AT_ONCE):
        pushed = EntryBatch()
        for ledger, number, data in entries[start : start + PUSHED_AT_ONCE]:
            pushed.push(ledger, number, data)
        yield from decoder.decode(pushed)
    yield from decoder.finish()


def sent_entries(sent: list[SendFrames]) -> list[bytes]:
    """Return the entries in SEND frames. A frame is `total size, command size, command, entry`."""
    found = []
    for each in sent:
        data, at = each.frames, 0
        while at < len(data):
            total, command = (int.from_bytes(data[at + i : at + i + 4], "big") for i in (0, 4))
            found.append(data[at + 8 + command : at + 4 + total])
            at += 4 + total
    return found


def kernel_encode(rows: pa.RecordBatch, info: SchemaInfo) -> list[SendFrames]:
    schema = resolve_write_schema(rows.schema, info, topic=TOPIC)
    # The other competitors write times as numbers too.
    schema = replace(schema, value=with_times_as_numbers(schema.value, where=TOPIC))
    encoder = BatchEncoder(schema, topic=TOPIC, partitions=1, compression="LZ4", batching_max_bytes=1 << 20)
    encoder.set_producer(
        0, producer_id=0, producer_name="producer", next_sequence_id=0, schema_version=bytes(8)
    )
    return encoder.encode(rows, PUBLISHED)


def repeated(entries: list[bytes], messages: int) -> list[python.Entry]:
    """Return entries with at least `messages` messages; each entry has a different position."""
    return [(7, number, entries[number % len(entries)]) for number in range(messages // MESSAGES)]


def measure(competitors: dict[str, Callable[[], Any]], rows: int, repeat: int) -> dict[str, dict[str, float]]:
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in competitors}
    for _ in range(repeat):
        for name, work in competitors.items():
            gc.collect()
            started, cpu = time.perf_counter(), time.process_time()
            kept = work()
            runs[name].append((time.perf_counter() - started, time.process_time() - cpu))
            del kept
    return {
        name: {
            "rows": rows,
            "seconds": round(statistics.median(each[0] for each in timed), 3),
            "rows_per_second": round(rows / statistics.median(each[0] for each in timed)),
            "cpu_microseconds_per_row": round(1e6 * statistics.median(each[1] for each in timed) / rows, 3),
        }
        for name, timed in runs.items()
    }


def run_decode(
    kind: SchemaType, rows: int, repeat: int, sample: pa.RecordBatch
) -> dict[str, dict[str, float]]:
    info = schema_info(kind)
    schema = resolve_read_schema(info, topic=TOPIC, columns=["*", *METADATA])
    entries = repeated(python.encode(sample, PAYLOADS[kind], PUBLISHED, 0, MESSAGES), rows)
    output = schema.output_schema
    competitors: dict[str, Callable[[], Any]] = {
        "kernel": lambda: pa.Table.from_batches(list(batches(schema, info, entries, 16384)), schema=output)
    }
    for name, values in DECODERS[kind].items():
        # Like the kernel, decode at least ten thousand rows at a time, because lists of millions of objects are slower.
        competitors[name] = lambda values=values: pa.concat_tables(
            python.decode(entries[start : start + 16], values, output, TOPIC)
            for start in range(0, len(entries), 16)
        )
    ours = competitors["kernel"]()
    for name, work in competitors.items():
        assert work().equals(ours), f"{kind.name}: {name} and the kernel differ"
    del ours
    return measure(competitors, rows, repeat)


def run_encode(
    kind: SchemaType, rows: int, repeat: int, sample: pa.RecordBatch
) -> dict[str, dict[str, float]]:
    info = schema_info(kind)
    times = max(1, rows // sample.num_rows)

    def by_python() -> list[bytes]:
        encoded: list[bytes] = []
        for _ in range(times):
            encoded = python.encode(sample, PAYLOADS[kind], PUBLISHED, 0, MESSAGES)
        return encoded

    def by_kernel() -> list[SendFrames]:
        sent: list[SendFrames] = []
        for _ in range(times):
            sent = kernel_encode(sample, info)
        return sent

    schema = resolve_read_schema(info, topic=TOPIC, columns=["*", "__key", "__messageProperties"])
    for encoded in (by_python(), sent_entries(by_kernel())):
        numbered = [(7, number, data) for number, data in enumerate(encoded)]
        table = pa.Table.from_batches(list(batches(schema, info, numbered, 16384)))
        assert table.equals(pa.Table.from_batches([sample]).select(table.schema.names).cast(table.schema)), (
            kind
        )
    name = {"JSON": "orjson", "AVRO": "fastavro"}.get(kind.name, "protobuf upb")
    return measure({"kernel": by_kernel, name: by_python}, times * sample.num_rows, repeat)


def memory(kind: SchemaType, batch_rows: int, entries: int) -> float:
    """Return the MiB by which decoding raises the peak memory of its process.

    The measure runs in a process of its own, because freed memory of this process would hide the growth.
    """
    encoded = python.encode(table_of(10 * MESSAGES), PAYLOADS[kind], PUBLISHED, 0, MESSAGES)
    command = [sys.executable, __file__, "--memory-of", kind.name, str(batch_rows), str(entries)]
    text = json.dumps([each.hex() for each in encoded])
    return float(subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout)


def print_memory(kind: SchemaType, batch_rows: int, entries: int) -> None:
    encoded = [bytes.fromhex(each) for each in json.loads(sys.stdin.read())]
    info = schema_info(kind)
    schema = resolve_read_schema(info, topic=TOPIC, columns=["*", *METADATA])
    numbered = repeated(encoded, entries * MESSAGES)
    Path("/proc/self/clear_refs").write_text("5")  # From here on, the process measures a new peak.
    before = _peak_kibibytes()
    for _ in batches(schema, info, numbered, batch_rows):
        pass
    print((_peak_kibibytes() - before) / 1024)


def _peak_kibibytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--result", type=Path, default=RESULT)
    arguments.add_argument("--memory-of", nargs=3, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.memory_of:
        kind, batch_rows, entries = given.memory_of
        print_memory(SchemaType[kind], int(batch_rows), int(entries))
        return
    sample = table_of(min(given.rows, DISTINCT_ENTRIES * MESSAGES))
    medians: dict[str, dict[str, dict[str, float]]] = {}
    for way, run in (("decode", run_decode), ("encode", run_encode)):
        for kind in DECODERS:
            try:
                medians[f"{way} {kind.name}"] = run(kind, given.rows, given.repeat, sample)
            except SchemaError as error:
                print(f"{way} {kind.name}: {error}")
                continue
            report(f"{way} {kind.name}", medians[f"{way} {kind.name}"])
    peaks = {
        f"{kind.name}, batches of {batch_rows} rows": {
            f"{entries} entries": round(memory(kind, batch_rows, entries), 1) for entries in (200, 1000)
        }
        for kind in (SchemaType.JSON, SchemaType.AVRO)
        for batch_rows in (10_000, 65_536)
    }
    print(json.dumps(peaks, indent=2))
    given.result.parent.mkdir(exist_ok=True)
    given.result.write_text(json.dumps(described(medians, peaks), indent=2) + "\n")


def report(case: str, medians: dict[str, dict[str, float]]) -> None:
    for name, figures in medians.items():
        ratio = figures["seconds"] / medians["kernel"]["seconds"]
        goal = "" if name == "kernel" else f"  kernel {ratio:.1f} times as fast (goal {GOALS.get(case, '-')})"
        print(f"{case:24} {name:14} {figures['rows_per_second']:12,} rows/s{goal}", flush=True)
        cpu = figures["cpu_microseconds_per_row"] / medians["kernel"]["cpu_microseconds_per_row"]
        figures |= {"kernel_is_times_faster": round(ratio, 1), "kernel_takes_times_less_cpu": round(cpu, 1)}


def described(medians: dict[str, Any], peaks: dict[str, Any]) -> dict[str, Any]:
    packages = ("pyarrow", "protobuf", "orjson", "fastavro", "lz4", "google-crc32c")
    cpu = next(
        (line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "command": "python bench/kernel_codec.py " + " ".join(sys.argv[1:]),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} x {cpu}, one thread used",
        "kernel": kernel_build(),
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in packages},
        "work": WORK,
        "medians": medians,
        "goals": {case: f"at least {goal} times as fast" for case, goal in GOALS.items()},
        "peak_mebibytes_of_a_decoder": peaks,
    }


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
