"""Entries that Pulsar's own Java classes made, decoded by the kernel and compared with what Java read from
them.

`make golden` writes the file again. tests/integration/schema/test_golden_is_current.py checks that the
file would not change.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fixtures.java_cases import LINES, known_cells
from fixtures.neutral import neutral_rows, text_of

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema

TOPIC = "persistent://public/default/golden"
VERSION = (3).to_bytes(8, "big")


def _info(line: dict[str, Any]) -> SchemaInfo:
    schema = line["schema"]
    pairs = tuple(sorted(schema["properties"].items()))
    kind = SchemaType.from_name(schema["type"])
    return SchemaInfo(schema["name"], kind, base64.b64decode(schema["data"]), pairs, VERSION)


def _decoded(line: dict[str, Any]) -> list[dict[str, Any]]:
    info = _info(line)
    metadata = list(line["rows"][0].get("metadata", ()))
    schema = resolve_read_schema(info, topic=TOPIC, columns=["*", *metadata])
    decoder = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=lambda _: info)
    entries = EntryBatch()
    entries.push(7, 0, bytes.fromhex(line["entry"]))
    return neutral_rows(pa.Table.from_batches([*decoder.decode(entries), *decoder.finish()]))


@pytest.mark.parametrize(
    "line", LINES, ids=[f"{each['name']}-{each['codec']}-{len(each['rows'])}" for each in LINES]
)
def test_entry_of_the_java_client(line: dict[str, Any]) -> None:
    found = _decoded(line)
    assert len(found) == len(line["rows"])
    for row, expected in zip(found, line["rows"], strict=True):
        about = expected.get("metadata", {})
        # A null value is a row whose value columns are all null.
        value = expected["value"] or dict.fromkeys(set(row) - set(about))
        assert text_of(known_cells(line["name"], row)) == text_of(
            known_cells(line["name"], {**value, **about})
        )


def test_every_type_and_codec_is_covered() -> None:
    types = {line["schema"]["type"] for line in LINES}
    missing = set(SchemaType.__members__) - types
    assert missing == {"NONE", "AUTO", "AUTO_CONSUME", "AUTO_PUBLISH"}
    codecs = {"NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"}
    for kind in types:
        assert {line["batched"] for line in LINES if line["schema"]["type"] == kind} == {True, False}, kind
    assert {(line["codec"], line["batched"]) for line in LINES if line["name"] == "STRING"} == {
        (codec, batched) for codec in codecs for batched in (True, False)
    }


def test_the_fuzzed_protobuf_plan_is_that_of_the_golden_entries() -> None:
    plan = Path(__file__).parents[3] / "kernel" / "fuzz" / "common" / "everything.json"
    (line, _) = (each for each in LINES if each["name"] == "PROTOBUF_NATIVE")
    schema = resolve_read_schema(_info(line), topic=TOPIC)
    assert schema.value.definition is not None
    made = json.loads(schema.value.definition) | {"version": ""}  # the version is only named in errors
    assert json.loads(plan.read_text("utf-8")) == made
