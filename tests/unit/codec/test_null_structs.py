"""Below a null struct pyarrow leaves empty values, which need not fit the field's type."""

import json

import pyarrow as pa
import pytest
from unit.codec.raw_payloads import TOPIC, WRITER, decoded, record, written
from unit.codec.sent_entries import entries_of

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

UUID = "12121212-1212-1212-1212-121212121212"
STRICT = record(
    ("fixed", {"type": "fixed", "name": "F", "size": 2}),
    ("uuid", {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}),
    name="Strict",
)
VALUE = {"fixed": b"ab", "uuid": UUID}


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_null_record(kind: str) -> None:
    document = record(("r", ["null", STRICT]), ("list", {"type": "array", "items": ["null", "Strict"]}))
    rows = [{"r": None, "list": [None, VALUE]}, {"r": VALUE, "list": []}]
    assert decoded(kind, document, written(kind, document, rows)[0]) == rows


def test_null_value_of_a_pair() -> None:
    value = SchemaInfo("v", SchemaType.AVRO, json.dumps(STRICT).encode())
    info = join(KeyValueSchemas(SchemaInfo("k", SchemaType.STRING), value, separated=False))
    read = resolve_read_schema(info, topic=TOPIC, columns=["key", "value"])
    rows = [{"key": "a", "value": None}, {"key": "b", "value": VALUE}]
    batch = pa.RecordBatch.from_pylist(rows, schema=read.output_schema)
    encoder = BatchEncoder(resolve_write_schema(batch.schema, info, topic=TOPIC), topic=TOPIC, partitions=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=WRITER)
    decoder = EntryDecoder(read, topic=TOPIC, partition=-1, fetch_schema=lambda _: info)
    batches = [*decoder.decode(entries_of(encoder.encode(batch, 1))), *decoder.finish()]
    assert [row for each in batches for row in each.to_pylist()] == rows
