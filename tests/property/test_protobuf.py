"""Protobuf against the official library: what it writes the kernel reads, and what the kernel writes it reads."""

from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2
from hypothesis import given, settings, strategies as st
from property.arrow_strategies import comparable
from property.protobuf_strategies import files, fill, loaded, native_info, new_message, row_of
from unit.codec.sent_entries import entries_of
from unit.codec.stored_entries import stored

from pyspark_pulsar._kernel import EntryBatch
from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.encode import BatchEncoder
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.schema.family.topics import topic_family
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.types.spark import arrow_schema, spark_schema
from pyspark_pulsar.schema.write.write_schema import resolve_write_schema

TOPIC = "persistent://public/default/orders"

File = descriptor_pb2.FileDescriptorProto


def decoded(
    info: SchemaInfo, entries: EntryBatch, *, written: SchemaInfo | None = None, rows: int = 3
) -> pa.Table:
    read = resolve_read_schema(info, topic=TOPIC, columns=["*"])
    decoder = EntryDecoder(
        read, topic=TOPIC, partition=-1, fetch_schema=lambda _: written or info, batch_rows=rows
    )
    found = [*decoder.decode(entries), *decoder.finish()]
    for batch in found:
        batch.validate(full=True)
        assert batch.schema.equals(read.output_schema, check_metadata=True)
    return pa.Table.from_batches(found, read.output_schema)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist(maps_as_pydicts="strict")


@settings(print_blob=True, deadline=None, max_examples=300)
@given(file=files(), data=st.data())
def test_what_the_library_writes(file: File, data: st.DataObject) -> None:
    descriptor = loaded(file)
    payloads, expected = [], []
    for _ in range(data.draw(st.integers(1, 5))):
        # Concatenated encodings of one message are one message: the last scalar wins, and messages merge.
        parts = [fill(data.draw, new_message(descriptor)) for _ in range(data.draw(st.integers(1, 3)))]
        payloads.append(b"".join(part.SerializeToString() for part in parts))
        merged = new_message(descriptor)
        merged.ParseFromString(payloads[-1])
        expected.append(row_of(merged))
    found = rows_of(decoded(native_info(file), stored([*payloads, None])))
    assert comparable(found[:-1]) == comparable(expected)
    assert set(found[-1].values()) == {None}


@settings(print_blob=True, deadline=None, max_examples=200)
@given(file=files(), data=st.data())
def test_what_the_library_reads(file: File, data: st.DataObject) -> None:
    descriptor = loaded(file)
    messages = [fill(data.draw, new_message(descriptor)) for _ in range(data.draw(st.integers(1, 4)))]
    info = native_info(file)
    table = decoded(info, stored([message.SerializeToString() for message in messages]), rows=100)
    write = resolve_write_schema(table.schema, info, topic=TOPIC)
    encoder = BatchEncoder(write, topic=TOPIC, partitions=1, batching_max_messages=1)
    encoder.set_producer(0, producer_id=1, producer_name="p", next_sequence_id=0, schema_version=b"\0" * 8)
    (batch,) = table.to_batches()
    entries = entries_of(encoder.encode(batch, 1))
    payloads = [row["value"] for row in rows_of(decoded(SchemaInfo("", SchemaType.BYTES), entries))]
    for payload, message in zip(payloads, messages, strict=True):
        back = new_message(descriptor)
        back.ParseFromString(payload)
        assert comparable(row_of(back)) == comparable(row_of(message))
        if file.syntax == "proto3":
            assert back == message
            assert payload == message.SerializeToString(deterministic=True) or _has_map(descriptor)


def _has_map(descriptor: Any) -> bool:
    return any(
        field.message_type is not None
        and (field.message_type.GetOptions().map_entry or _has_map(field.message_type))
        for field in descriptor.fields
    )


def with_fewer_fields(draw: st.DrawFn, file: File) -> File:
    older = File.FromString(file.SerializeToString())
    for message in older.message_type:
        keep = [field for field in message.field if draw(st.integers(0, 2)) or field.proto3_optional]
        keep = keep or list(message.field)[:1]
        in_oneof = any(field.HasField("oneof_index") and not field.proto3_optional for field in keep)
        if any(decl.name == "choice" for decl in message.oneof_decl) and not in_oneof:
            keep = list(message.field)
        del message.field[:]
        message.field.extend(keep)
        kept = {field.type_name.rpartition(".")[2] for field in keep}
        nested = [each for each in message.nested_type if each.name in kept]
        del message.nested_type[:]
        message.nested_type.extend(nested)
    return older


@settings(print_blob=True, deadline=None, max_examples=100)
@given(file=files(), data=st.data())
def test_topics_with_some_of_the_fields_are_one_table(file: File, data: st.DataObject) -> None:
    for message in file.message_type:
        for field in message.field:
            if field.label == field.LABEL_REQUIRED:
                field.label = field.LABEL_OPTIONAL
    topics = {TopicName.parse(f"t{n}"): with_fewer_fields(data.draw, file) for n in range(3)}
    family = topic_family({topic: native_info(own) for topic, own in topics.items()})
    read = resolve_read_schema(family.info, topic=TOPIC, columns=["*"], payload=family.payload)
    for own in topics.values():
        message = fill(data.draw, new_message(loaded(own)))
        seen = new_message(loaded(file))
        seen.ParseFromString(message.SerializeToString())
        writer = native_info(own)
        decoder = EntryDecoder(read, topic=TOPIC, partition=-1, fetch_schema=lambda _, info=writer: info)
        entries = stored([message.SerializeToString()])
        [row] = rows_of(pa.Table.from_batches([*decoder.decode(entries), *decoder.finish()]))
        assert comparable(row) == comparable(_only(row_of(seen), row))


def _only(value: Any, shown: Any) -> Any:
    """`value` with the fields that a row shows: no topic has the others."""
    if isinstance(value, dict) and isinstance(shown, dict):
        return {key: _only(item, shown[key]) for key, item in value.items() if key in shown}
    if isinstance(value, list) and isinstance(shown, list) and len(value) == len(shown):
        return [_only(one, other) for one, other in zip(value, shown, strict=True)]
    return value


@settings(print_blob=True, deadline=None, max_examples=150)
@given(file=files(), data=st.data())
def test_fields_that_the_reader_does_not_know(file: File, data: st.DataObject) -> None:
    older = with_fewer_fields(data.draw, file)
    writer, reader = loaded(file), loaded(older)
    messages = [fill(data.draw, new_message(writer)) for _ in range(3)]
    expected = []
    for message in messages:
        seen = new_message(reader)
        seen.ParseFromString(message.SerializeToString())
        expected.append(row_of(seen))
    entries = stored([message.SerializeToString() for message in messages])
    found = decoded(native_info(older), entries, written=native_info(file, 2))
    assert comparable(rows_of(found)) == comparable(expected)


@settings(print_blob=True, deadline=None, max_examples=100)
@given(files())
def test_spark_expects_exactly_what_a_read_yields(file: File) -> None:
    output = resolve_read_schema(native_info(file), topic=TOPIC).output_schema
    assert arrow_schema(spark_schema(output)).equals(output, check_metadata=True)
