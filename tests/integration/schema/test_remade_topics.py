"""Topics that are deleted and made again with other versions and the same latest schema, read by one worker process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from integration.official import Admin
from integration.raw_producer import RawProducer
from unit.schema.protobuf.test_registry import F, file_of, native

from pyspark_pulsar.client.admin.client import AdminClient
from pyspark_pulsar.errors import DataLossError
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.options.values.offset_bound import FROM_EARLIEST
from pyspark_pulsar.read.batch.batch_plan import plan_batch
from pyspark_pulsar.read.bounds.schema import resolve_source_schema
from pyspark_pulsar.read.microbatch.offset import StreamOffset
from pyspark_pulsar.read.microbatch.stream_reader import PulsarStreamReader
from pyspark_pulsar.read.split import Split
from pyspark_pulsar.read.task.split_reader import read_splits
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.key_value import KeyValueSchemas, join
from pyspark_pulsar.spark.read_limits import ReadAllAvailable
from pyspark_pulsar.tools.standalone import LocalPulsar

_VERSION_0 = bytes(8)
_AVRO = b"\x02\x04"
"""The numbers 1 and 2."""
_PAYLOADS = {
    SchemaType.AVRO: _AVRO,
    SchemaType.JSON: b'{"a": 1, "b": 2}',
    SchemaType.KEY_VALUE: b"\0\0\0\1k\0\0\0\2" + _AVRO,
    SchemaType.PROTOBUF_NATIVE: b"\x08\x01\x10\x02",
}
_BY_PLACE = (SchemaType.AVRO, SchemaType.KEY_VALUE)
"""Schema types whose fields are found by the version that wrote them. JSON finds them by their names, and Protobuf by
their numbers in the latest schema."""


def schema_of(kind: SchemaType, fields: str) -> SchemaInfo:
    """A schema whose fields are numbers with these names of one letter."""
    if kind is SchemaType.PROTOBUF_NATIVE:
        return native(file_of(*((name, number, F.TYPE_INT32) for number, name in enumerate(fields, 1))))
    record = [{"name": name, "type": "int", "default": 0} for name in fields]
    document = json.dumps({"type": "record", "name": "E", "fields": record}).encode()
    if kind is not SchemaType.KEY_VALUE:
        return SchemaInfo("E", kind, document)
    sides = SchemaInfo("k", SchemaType.STRING), SchemaInfo("E", SchemaType.AVRO, document)
    return join(KeyValueSchemas(*sides, separated=False))


def make(pulsar: LocalPulsar, admin: Admin, topic: str, kind: SchemaType, first: str) -> None:
    """Make the topic, with the fields `first` in version 0 and then those of the latest version."""
    options = ReadOptions(service_url=pulsar.service_url, admin_url=pulsar.admin_url, topic=topic)
    with AdminClient(options) as client:
        for fields in (first, "abc"):
            client.schemas.register(TopicName.parse(topic), schema_of(kind, fields))


def rows(options: ReadOptions, splits: Iterable[Split]) -> list[tuple[int, int]]:
    batches = read_splits(options, resolve_source_schema(options), list(splits))
    found = [row for batch in batches for row in batch.to_pylist()]
    values = [row.get("value", row) for row in found]
    return [(value["a"], value["b"]) for value in values]


def read(options: ReadOptions) -> list[tuple[int, int]]:
    return rows(options, plan_batch(options).splits)


@pytest.mark.parametrize("partitions", [0, 2])
@pytest.mark.parametrize("kind", _PAYLOADS)
def test_each_is_read_by_its_own_versions(
    kind: SchemaType, partitions: int, topic: str, pulsar: LocalPulsar, admin: Admin
) -> None:
    options = ReadOptions(service_url=pulsar.service_url, topic=topic, mode="DROPMALFORMED")
    parts = [f"{topic}-partition-{number}" for number in range(partitions)] or [topic]

    def send() -> None:
        for part in parts:
            with RawProducer(pulsar.service_url, part) as producer:
                producer.send(_PAYLOADS[kind], (16, _VERSION_0))

    expected = {"ab": (1, 2), "ba": (2, 1) if kind in _BY_PLACE else (1, 2)}
    for first, row in expected.items():
        if partitions:
            admin.create_partitioned(topic, partitions)
        else:
            admin.create(topic)
        make(pulsar, admin, topic, kind, first)
        for _ in range(2):
            send()
            assert set(read(options)) == {row}
        if partitions:
            admin.delete_partitioned(topic)
        else:
            admin.delete(topic)


def test_a_stream_over_both(topic: str, pulsar: LocalPulsar, admin: Admin) -> None:
    options = ReadOptions(
        service_url=pulsar.service_url, topic=topic, starting_offsets=FROM_EARLIEST, fail_on_data_loss=False
    )
    strict = ReadOptions(service_url=pulsar.service_url, topic=topic)
    admin.create(topic)
    make(pulsar, admin, topic, SchemaType.AVRO, "ab")
    reader = PulsarStreamReader(options, resolve_source_schema(options))
    offset = reader.initialOffset()
    found: list[list[tuple[int, int]]] = []

    def trigger(offset: dict[str, Any]) -> dict[str, Any]:
        with RawProducer(pulsar.service_url, topic) as producer:
            producer.send(_AVRO, (16, _VERSION_0))
        end = reader.latestOffset(offset, ReadAllAvailable())
        splits = [split for task in reader.partitions(offset, end) for split in task.value]
        found.append(rows(options, splits))
        return end

    try:
        for _ in range(2):
            offset = trigger(offset)
        admin.delete(topic)
        admin.create(topic)
        make(pulsar, admin, topic, SchemaType.AVRO, "ba")
        other = PulsarStreamReader(strict, resolve_source_schema(strict))
        try:
            with RawProducer(pulsar.service_url, topic) as producer:
                producer.send(_AVRO, (16, _VERSION_0))
            with pytest.raises(DataLossError, match="made again"):
                other.partitions(offset, other.latestOffset(offset, ReadAllAvailable()))
        finally:
            other.stop()
        trigger(offset)
    finally:
        reader.stop()
    assert found == [[(1, 2)], [(1, 2)], [(2, 1)] * 2]
    assert StreamOffset.from_json(offset).positions
