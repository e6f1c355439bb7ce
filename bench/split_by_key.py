"""CPU of splits by key in the kernel: of tasks that read all keys, a half or a tenth, and of counting entries.

    python bench/split_by_key.py --rows 1000000 --repeat 3

The messages equal the messages of `kernel_codec.py` in LZ4 batches of 1000, each with different keys. The
program runs in one thread, and prints medians of CPU time. Read the ratios.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernel_codec as bench
import pyarrow as pa

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.backlog import Backlog
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.row_filter import RowFilter
from pyspark_pulsar.model.position import EARLIEST
from pyspark_pulsar.read.planning.splits.key_ranges import SLOTS
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.metadata_columns import FIELDS as METADATA
from pyspark_pulsar.schema.read_schema import ReadSchema, resolve_read_schema

RESULT = Path(__file__).parent / "results" / "split_by_key.json"
PARTS = (1, 2, 10)

Stored = list[tuple[int, int, bytes]]


def keyed(rows: int) -> pa.RecordBatch:
    plain = bench.table_of(rows)
    keys = pa.array([f"key-{number}".encode() for number in range(rows)], pa.binary())
    return plain.set_column(plain.schema.get_field_index("__key"), "__key", keys)


def pushed(entries: Stored, start: int) -> EntryBatch:
    batch = EntryBatch()
    for ledger, number, data in entries[start : start + bench.PUSHED_AT_ONCE]:
        batch.push(ledger, number, data)
    return batch


def decode(schema: ReadSchema, info: SchemaInfo, entries: Stored, slots: tuple[int, int]) -> int:
    """Decode the rows of these slots, and return the number of rows."""
    decoder = EntryDecoder(
        schema,
        topic=bench.TOPIC,
        partition=-1,
        fetch_schema=lambda _: info,
        row_filter=RowFilter(slots=None if slots == (0, SLOTS) else slots),
    )
    rows = 0
    for start in range(0, len(entries), bench.PUSHED_AT_ONCE):
        rows += sum(batch.num_rows for batch in decoder.decode(pushed(entries, start)))
    return rows + sum(batch.num_rows for batch in decoder.finish())


def count(entries: Stored) -> int:
    backlog = Backlog(EARLIEST)
    for start in range(0, len(entries), bench.PUSHED_AT_ONCE):
        backlog.add(pushed(entries, start))
    return backlog.records


def run(kind: SchemaType, rows: int, repeat: int) -> dict[str, dict[str, float]]:
    info = bench.schema_info(kind)
    schema = resolve_read_schema(info, topic=bench.TOPIC, columns=["*", *METADATA])
    sample = keyed(min(rows, bench.DISTINCT_ENTRIES * bench.MESSAGES))
    entries = bench.repeated(bench.sent_entries(bench.kernel_encode(sample, info)), rows)
    work: dict[str, Callable[[], Any]] = {
        f"one of {parts}": lambda parts=parts: decode(schema, info, entries, (0, SLOTS // parts))
        for parts in PARTS
    }
    found = {name: each() for name, each in work.items()}
    assert found["one of 1"] == len(entries) * bench.MESSAGES
    work["count"] = lambda: count(entries)
    medians = bench.measure(work, len(entries) * bench.MESSAGES, repeat)
    whole = medians["one of 1"]["cpu_microseconds_per_row"]
    for name, figures in medians.items():
        figures["share_of_rows"] = round(found.get(name, 0) / found["one of 1"], 3)
        figures["cpu_by_that_of_all"] = round(figures["cpu_microseconds_per_row"] / whole, 3)
        print(f"{kind.name:16} {name:10} {figures['cpu_by_that_of_all']:.3f} of the CPU for all keys")
    return medians


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--result", type=Path, default=RESULT)
    given = arguments.parse_args()
    found = {kind.name: run(kind, given.rows, given.repeat) for kind in (SchemaType.JSON, SchemaType.AVRO)}
    given.result.parent.mkdir(exist_ok=True)
    given.result.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
