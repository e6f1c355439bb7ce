"""Fuzz everything in the kernel that reads foreign bytes: kernel/fuzz, built on stable Rust by `make fuzz`.

Each target starts from the golden entries and their payloads, and from the inputs that earlier runs kept in the cache.
A failure is a panic, more than 10 s, or more than 2 GiB for one input. The input is stored, and this program prints how
to repeat the failure, and ends with 1. All targets share the duration of `--seconds`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "kernel" / "tests" / "data" / "golden.jsonl"
COMMON = ROOT / "kernel" / "fuzz" / "common"
# In the order of the value types in kernel/fuzz/common/mod.rs; the records follow.
PRIMITIVES = (
    *("BYTES", "STRING", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE"),
    *("DATE", "TIME", "TIMESTAMP", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME"),
)
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1")
CHECKSUM_BYTES = 6
LEAST_TRACED = 500  # traced code locations of a target; without the kernel's own it has about 300


def seeds(target: str) -> Iterator[bytes]:
    """Yield the first inputs of a target, in the form that the target reads."""
    for line in map(json.loads, GOLDEN.open(encoding="utf-8")):
        kind = line["schema"]["type"]
        entry = bytes.fromhex(line["entry"])
        payloads = [bytes.fromhex(row["payload"]) for row in line["rows"] if row["payload"] is not None]
        choices = (*PRIMITIVES, "JSON", "AVRO", "PROTOBUF_NATIVE", "KEY_VALUE")
        choice = choices.index(kind) if kind in choices else 0
        if target == "frame":
            yield bytes([len(entry) % 251]) + _message_frame(entry)
        elif target == "entry":
            yield bytes([choice]) + entry
            yield (
                bytes([choice]) + entry[CHECKSUM_BYTES:]
            )  # without the checksum, mutations reach the bytes after it
        elif target == "bookie":
            yield from _bookie_answers(entry)
        elif target == "primitive" and kind in PRIMITIVES:
            yield from (bytes([choice]) + payload for payload in payloads)
        elif target == kind.lower():
            first = b"\0" if target == "avro" else b""
            yield from (first + payload for payload in payloads)
        elif (target, kind) == ("protobuf", "PROTOBUF_NATIVE"):
            yield from payloads
    yield from _odd_entries(target)
    yield from _records(target)
    yield from _offloaded(target)


def _odd_entries(target: str) -> Iterator[bytes]:
    """Yield entries with contradictory metadata, as in kernel/tests/poison.rs."""
    fields = (
        "60 fbffffffffffffffff01",  # event time -5
        "22 06 0a016b 1201ff",  # a property that is not UTF-8
        "22 06 0a016b 120131 22 06 0a016b 120132",  # a property twice
        "32 01 3f 8801 01",  # a key that is not base64
        "8201 01 31",  # a schema version of one byte
        "40 09 48 04",  # an unknown codec
        *(f"40 0{codec} 48 ffffffff07" for codec in range(1, 5)),  # a much larger size than possible
        "58 ffffffff07",  # a batch of 2^31 - 1 messages
        "d201 01 75 d801 02 e001 01 e801 05",  # chunk 5 of 2
    )
    for text in fields if target == "entry" else ():
        metadata = bytes.fromhex("0a0170 1000 1801" + text)
        yield b"\0" + len(metadata).to_bytes(4, "big") + metadata + b"\x1f\0\1\0" + b"\xff" * 40


def _bookie_answers(entry: bytes) -> Iterator[bytes]:
    """Yield inputs of kernel/fuzz/targets/bookie.rs.

    The inputs are answers to READ_ENTRY and BATCH_READ for ledger 7, without digests. One input is an entry of a
    compacted ledger.
    """
    ids = [number.to_bytes(8, "big") for number in range(8)]
    bodies = [ids[7] + ids[number] + ids[0] + ids[1] + entry for number in (0, 1)]
    request = bytes(4) + ids[7] + ids[0]
    batch = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    for frame in (b"\2\2\0\0" + request + bodies[0], b"\2\7\0\0" + request + ids[5] + batch):
        yield b"\xf0" + len(frame).to_bytes(4, "big") + frame
    message_id = bytes.fromhex("08031007")
    yield b"\xfc" + b"".join(len(part).to_bytes(4, "big") + part for part in (message_id, entry))


def _message_frame(entry: bytes) -> bytes:
    """Return a MESSAGE for consumer 1: BaseCommand type 9, CommandMessage {1 consumer, 2 {1 ledger, 2 entry}}."""
    command = bytes.fromhex("08094a0808011204 0807 1000".replace(" ", ""))
    body = len(command).to_bytes(4, "big") + command + entry
    return len(body).to_bytes(4, "big") + body


def _offloaded(target: str) -> Iterator[bytes]:
    """Yield step, length of the index, first entry, number of further entries, index, data.

    kernel/fuzz/common/stored.rs describes these parts of an input.
    """
    names = {"tiered-object": ("object-index", "object"), "map-file": ("map-index", "map-data")}.get(target)
    if names is not None:
        index, data = ((GOLDEN.parent / "offloaded" / name).read_bytes() for name in names)
        for step, first, more in ((255, 0, 11), (3, 5, 3)):
            yield bytes([step]) + len(index).to_bytes(2, "big") + bytes([first, more]) + index + data


def _records(target: str) -> Iterator[bytes]:
    """Yield values of the record in kernel/fuzz/src/record.rs, which no golden entry has."""
    if target == "json":
        yield from (
            json.dumps(form).encode()
            for form in (
                {
                    "at": 1714979289.5,
                    "zoned": -1.5,
                    "there": [2024, 5, 6, 7, 8, 9, 1],
                    "clock": [7, 8],
                    "days": [[2024, 5, 6]],
                },
                {
                    "at": "2024-05-06T07:08:09.5+02:00",
                    "zoned": 5e-9,
                    "clock": "07:08:09.5",
                    "days": ["2024-05-06", 1],
                },
                {"letter": "\ud83d", "amount": 1e3, "count": "5", "any": {"a": [1, "x"]}},
            )
        )
        yield json.dumps(
            {
                "flag": True,
                "small": 1,
                "large": -2,
                "single": 0.5,
                "twice": 1e300,
                "words": "é\n",
                "data": base64.b64encode(b"\0\1").decode(),
                "colour": "RED",
                "hash": "AAEC",
                "amount": 1.5,
                "day": 20000,
                "clock": 1,
                "at": 1700000000123,
                "there": 5,
                "list": ["a", None],
                "pairs": {"k": 1},
                "inner": {"x": 3, "rows": [0.25]},
            }
        ).encode()
        yield b'{"large":"9007199254740993.0","twice":"1e400","amount":"1234","data":"no base64","pairs":{"k":1,"k":2}}'
    elif target in ("avro", "key-value", "separated"):
        plain = "01 0202 03 00 0000003f 000000000000f03f 04 6162 020400 01 02 02 00 01 02 04 3a98 02 8002 02 04 02 06"
        parts = plain + "02 02 02 61 00 00 02 02 02 6b 02 00 02 06 02 000000000000d03f 00"
        record = bytes.fromhex(parts.replace(" ", ""))
        if target == "key-value":
            record = len(record).to_bytes(4, "big") + record + (3).to_bytes(4, "big") + b"abc"
        yield bytes([2 * len(record) if target == "separated" else 0]) + record
    elif target == "definition":
        for text in re.findall(r'r#"(.*?)"#', (COMMON / "record.rs").read_text(), re.DOTALL):
            yield from (bytes([choice]) + text.encode() for choice in (0, 1, 3))
        yield from (bytes([choice]) + (COMMON / "everything.json").read_bytes() for choice in (2, 4))
    elif target == "sequence":
        yield from _sequences()


def _sequences() -> Iterator[bytes]:
    """Yield interleaved chunks 0 to 2 of two messages, with batches between the chunks, encrypted and not encrypted.

    kernel/fuzz/common/sequence.rs describes the format of these inputs.
    """
    a, b, batch = 0b0101, 0b1101, 0
    order = [(a, 0), (b, 0), (batch, 2), (b, 1), (a, 1), (b, 2), (a, 2), (a, 2)]
    for key in (0, 0b01, 0b1001, 0b11, 0x81):
        script = b"".join(bytes([what, number, key, 3]) for what, number in order)
        for how in (0, 1, 4, 8):
            yield bytes([how, 4, 1]) + script


def fuzz(program: Path, corpus: Path, seconds: int) -> bool:
    """Run a target, and return whether it found no failure. Inputs that increase coverage stay in `corpus`."""
    target = program.name.removeprefix("fuzz-")
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds(target):
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    found = corpus.parent / "found"
    found.mkdir(exist_ok=True)
    command = [str(program), str(corpus), f"-max_total_time={seconds}", f"-artifact_prefix={found}/{target}-"]
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    done = subprocess.run(
        [*command, *LIMITS], capture_output=True, text=True, errors="replace", check=False, env=environment
    )
    traced = re.search(r"PC tables \((\d+) PCs\)", done.stderr)
    if traced is None or int(traced[1]) < LEAST_TRACED:
        print(
            f"{target}: expected a program built with kernel/fuzz/rustc-with-coverage, got one without coverage; "
            f"run make fuzz",
            file=sys.stderr,
        )
        return False
    stats = [line for line in done.stderr.splitlines() if line.startswith("stat::")]
    summary = ", ".join(line.removeprefix("stat::").replace(":", "").replace("  ", "") for line in stats[:2])
    print(f"{target}: {summary or 'failed'}", flush=True)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        print(f"Repeat the failure with: {program} {found}/{target}-...", file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--programs", type=Path, required=True, help="folder of the built targets")
    arguments.add_argument("--corpus", type=Path, required=True)
    given = arguments.parse_args()
    built = [path for path in given.programs.glob("fuzz-*") if not path.suffix]
    if not built:
        print(f"{given.programs}: expected fuzz targets, got none; run make fuzz", file=sys.stderr)
        return 1
    each = max(1, given.seconds // len(built))
    found_nothing = [fuzz(path, given.corpus / path.name, each) for path in sorted(built)]
    return 0 if all(found_nothing) else 1


if __name__ == "__main__":
    sys.exit(main())
