"""The pairs that Java's own KeyValue schemas wrote: kernel/tests/data/java_key_values.tsv."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark_pulsar.schema.info import SchemaInfo, SchemaType

_FILE = Path(__file__).parents[2] / "kernel" / "tests" / "data" / "java_key_values.tsv"
VERSION = bytes(8)


@dataclass
class JavaPairs:
    """A schema, its pairs as Java decodes them, and entries: each pair alone, and all in one batch."""

    info: SchemaInfo = field(default_factory=lambda: SchemaInfo("", SchemaType.NONE))
    pairs: list[dict[str, Any]] = field(default_factory=list)
    single: list[bytes] = field(default_factory=list)
    batched: list[bytes] = field(default_factory=list)


def java_pairs() -> dict[tuple[str, str], JavaPairs]:
    """Return the cases by their name, such as `avro_int64`, and encoding."""
    found: dict[tuple[str, str], JavaPairs] = defaultdict(JavaPairs)
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        kind, case, encoding, first, second = line.split("\t")
        made = found[case, encoding]
        if kind == "schema":
            properties = tuple(sorted(json.loads(second).items()))
            data = bytes.fromhex(first)
            made.info = SchemaInfo("KeyValue", SchemaType.KEY_VALUE, data, properties, VERSION)
        elif kind == "pair":
            made.pairs.append(json.loads(second))
        else:
            (made.single if first == "single" else made.batched).append(bytes.fromhex(second))
    return dict(found)
