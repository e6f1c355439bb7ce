import json
import struct

import pyarrow as pa
import pytest
from unit.codec.handmade_entries import (
    JSON_INFO,
    NEW,
    OLD,
    PUBLISHED,
    PUBLISHED_MS,
    TOPIC,
    V1,
    V2,
    avro,
    avro_info,
    batched,
    decoder,
    entry,
    lenient,
    no_fetch,
    proto,
    pushed,
    rows_of,
)

from pyspark_pulsar.codec.decode import EntryDecoder
from pyspark_pulsar.codec.intake import Intake
from pyspark_pulsar.errors import (
    ConnectionFailed,
    CorruptEntryError,
    DecodeError,
    DecryptionError,
    SchemaError,
    UnsupportedEntryError,
)
from pyspark_pulsar.schema.info import SchemaInfo, SchemaType
from pyspark_pulsar.schema.read_schema import resolve_read_schema
from pyspark_pulsar.schema.user_schema import restrict_to


def test_default_columns_of_one_unbatched_message() -> None:
    property_ = proto((1, b"colour"), (2, b"red"))
    rows = rows_of(decoder(None), entry(b"payload", (4, property_), (6, b"the key"), (12, PUBLISHED_MS)))
    assert rows == [
        {
            "value": b"payload",
            "__key": b"the key",
            "__topic": TOPIC,
            "__messageId": {"ledger": 7, "entry": 0, "batchIndex": -1, "partition": 2},
            "__publishTime": PUBLISHED,
            "__eventTime": PUBLISHED,
            "__messageProperties": {"colour": "red"},
        }
    ]


def test_columns_on_request_and_their_nulls() -> None:
    names = [
        "__partition",
        "__orderingKey",
        "__producerName",
        "__sequenceId",
        "__schemaVersion",
        "__messageSize",
    ]
    rows = rows_of(decoder(None, names), entry(b"abc", (16, V2), (18, b"order")), entry(b""))
    assert [list(row.values()) for row in rows] == [
        [2, b"order", "producer", 41, 2, 3],
        [2, None, "producer", 41, None, 0],
    ]


@pytest.mark.parametrize(
    ("schema_type", "payload", "value"),
    [
        (SchemaType.STRING, "grün".encode(), "grün"),
        (SchemaType.BOOLEAN, b"\1", True),
        (SchemaType.INT8, b"\xfe", -2),
        (SchemaType.INT16, b"\1\2", 258),
        (SchemaType.INT32, b"\xff\xff\xff\xfd", -3),
        (SchemaType.INT64, b"\0\0\0\1\0\0\0\0", 2**32),
        (SchemaType.FLOAT, struct.pack(">f", 1.5), 1.5),
        (SchemaType.DOUBLE, struct.pack(">d", -0.1), -0.1),
    ],
)
def test_primitives_as_java_writes_them(schema_type: SchemaType, payload: bytes, value: object) -> None:
    rows = rows_of(decoder(SchemaInfo("x", schema_type), ["value"]), entry(payload), entry(b"", (25, 1)))
    assert rows == [{"value": value}, {"value": None}]


def test_range_is_start_inclusive_end_exclusive() -> None:
    entries = [batched(b"a", b"b", b"c"), entry(b"d"), batched(b"e", b"f")]
    over = decoder(None, ["value"], start=(7, 0, 1), end=(7, 2, 1))
    assert [row["value"] for row in rows_of(over, *entries)] == [b"b", b"c", b"d", b"e"]


def test_full_batches_are_returned_immediately_and_the_rest_at_the_end() -> None:
    over = decoder(None, ["value"], batch_rows=2)
    first = [
        batch.num_rows for batch in over.decode(pushed(batched(b"a", b"b", b"c"), entry(b"d"), entry(b"e")))
    ]
    assert (first, [batch.num_rows for batch in over.finish()]) == ([2, 2], [1])


def test_batches_have_exactly_the_planned_schema() -> None:
    schema = resolve_read_schema(SchemaInfo("x", SchemaType.AVRO, NEW.encode()), topic=TOPIC)
    over = EntryDecoder(schema, topic=TOPIC, partition=-1, fetch_schema=no_fetch)
    (batch, *_) = [*over.decode(pushed(entry(avro({"id": 1, "tag": None}, NEW)))), *over.finish()]
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.equals(schema.output_schema, check_metadata=True)


def test_older_versions_are_resolved_and_fetched_once() -> None:
    asked: list[bytes] = []

    def fetch(version: bytes) -> SchemaInfo | None:
        asked.append(version)
        return SchemaInfo("x", SchemaType.AVRO, {V1: OLD, V2: NEW}[version].encode())

    over = decoder(SchemaInfo("x", SchemaType.AVRO, NEW.encode()), ["*"], fetch=fetch)
    old, new = entry(avro({"id": 1}, OLD), (16, V1)), entry(avro({"id": 2, "tag": "x"}, NEW), (16, V2))
    rows = [
        row for _ in range(2) for batch in over.decode(pushed(old, new, old)) for row in batch.to_pylist()
    ]
    rows += [row for batch in over.finish() for row in batch.to_pylist()]
    assert rows == [{"id": 1, "tag": None}, {"id": 2, "tag": "x"}, {"id": 1, "tag": None}] * 2
    assert sorted(asked) == [V1, V2]


def test_json_message_older_than_a_required_field() -> None:
    document = (
        '{"type":"record","name":"R","fields":[{"name":"id","type":"int","default":7},{"name":"in","type":'
        '{"type":"record","name":"N","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":9}]}}]}'
    )
    info = SchemaInfo("x", SchemaType.JSON, document.encode())
    rows = rows_of(decoder(info, ["*"]), entry(b'{"in":{"a":2},"unknown":[1]}'))
    assert rows == [{"id": 7, "in": {"a": 2, "b": 9}}]
    for text in (
        b'{"id":1}',
        b'{"id":1,"in":null}',
        b'{"in":{"b":2}}',
        b'{"in":{"a":null}}',
        b'{"id":null,"in":{"a":1}}',
    ):
        with pytest.raises(
            DecodeError, match=r"orders-partition-2, ledger 7, entry 0: .* in field (id|in|in\.a),"
        ):
            rows_of(decoder(info, ["*"]), entry(text))


@pytest.mark.parametrize("version", [b"1", b"\0" * 7, b"\0" * 9, b"\xff" * 200])
def test_bytes_that_are_no_version_are_not_looked_up(version: bytes) -> None:
    info = SchemaInfo("x", SchemaType.AVRO, NEW.encode())
    with pytest.raises(SchemaError, match=rf"schema version {version.hex()}, which messages name, got none"):
        list(decoder(info, fetch=no_fetch).decode(pushed(entry(b"\2\0", (16, version)))))


def test_a_payload_that_unpacks_to_too_much_names_both_sizes_and_the_option() -> None:
    packed = entry(b"\0" * 100, (8, 1), (9, 2**31))
    with pytest.raises(
        DecodeError,
        match=(
            r"orders-partition-2, ledger 7, entry 0: "
            r".*at most 83886080 .* 2147483648 bytes .*; .*maxUncompressedMessageSize"
        ),
    ):
        rows_of(decoder(None), packed)
    limited = decoder(None, intake=Intake(max_uncompressed=99))
    with pytest.raises(DecodeError, match=r"at most 99 bytes .* got 100 bytes uncompressed .*;"):
        rows_of(limited, entry(b"\0" * 100, (8, 1), (9, 100)))


def test_version_that_the_registry_lost() -> None:
    over = decoder(SchemaInfo("x", SchemaType.AVRO, NEW.encode()), fetch=lambda _: None)
    with pytest.raises(SchemaError, match=r"orders-partition-2, ledger 7, entry 0: .* schema version 2,"):
        list(over.decode(pushed(entry(b"\2\0", (16, V2)))))


def test_version_that_does_not_resolve() -> None:
    foreign = '{"type":"record","name":"R","fields":[{"name":"id","type":"string"}]}'
    written = SchemaInfo("x", SchemaType.AVRO, foreign.encode())
    over = decoder(SchemaInfo("x", SchemaType.AVRO, NEW.encode()), fetch=lambda _: written)
    with pytest.raises(SchemaError, match=r"orders-partition-2.*schema version 1\b"):
        [*over.decode(pushed(entry(b"\2a", (16, V1)))), *over.finish()]


@pytest.mark.parametrize(
    ("info", "data", "expected"),
    [
        (None, b"\x0e\x01\0\0\0\0" + entry(b"x"), CorruptEntryError),
        (None, entry(b"x")[:9], CorruptEntryError),
        (None, entry(b"x", (8, 1), (9, 100)), CorruptEntryError),
        (SchemaInfo("x", SchemaType.INT32), entry(b"abc"), DecodeError),
        (SchemaInfo("x", SchemaType.STRING), entry(b"\xff"), DecodeError),
        (SchemaInfo("x", SchemaType.JSON, NEW.encode()), entry(b'{"id":1}{"id":2}'), DecodeError),
        (SchemaInfo("x", SchemaType.AVRO, NEW.encode()), entry(b"\2\0\0"), DecodeError),
        (None, entry(b"x", (8, 9)), UnsupportedEntryError),
        (None, entry(b"x", (13, proto((1, b"k"), (2, b"v"))), (15, b"n" * 12)), DecryptionError),
    ],
)
def test_errors_name_topic_ledger_and_entry(
    info: SchemaInfo | None, data: bytes, expected: type[Exception]
) -> None:
    over = decoder(info)
    good = {SchemaType.INT32: b"\0\0\0\1", SchemaType.JSON: b'{"id":1}', SchemaType.AVRO: b"\2\0"}
    first = entry(good.get(info.type, b"y") if info else b"y")
    with pytest.raises(expected, match=r"orders-partition-2, ledger 7, entry 1\b"):
        [*over.decode(pushed(first, data)), *over.finish()]


def test_error_within_a_batch_names_the_batch_index() -> None:
    over = decoder(SchemaInfo("x", SchemaType.INT8), ["value"], partition=-1)
    with pytest.raises(DecodeError, match=r"orders, ledger 7, entry 0, batch index 1\b"):
        [*over.decode(pushed(batched(b"a", b"bc", b"d"))), *over.finish()]


def test_messages_without_a_version_are_read_by_the_topics_own_document() -> None:
    """The decoder does not use the query's document, because `.schema()` may have changed that."""
    document = avro_info(
        '{"type":"record","name":"R","fields":[{"name":"a","type":"float"},{"name":"b","type":"int"}]}'
    )
    whole = resolve_read_schema(document, topic=TOPIC)
    wanted = pa.schema([pa.field("b", pa.int64()), pa.field("a", pa.float64()), pa.field("c", pa.string())])
    former = avro_info(
        '{"type":"record","name":"R","fields":[{"name":"c","type":"string"},{"name":"b","type":"int"}]}'
    )
    schema = restrict_to(whole, wanted, topic=TOPIC, older=lambda: [former])
    over = EntryDecoder(
        schema, topic=TOPIC, partition=-1, fetch_schema=lambda v: {V1: former, V2: document}[v], batch_rows=9
    )
    new = avro({"a": 1.5, "b": 7}, document.text)
    old = avro({"c": "x", "b": 8}, former.text)
    with pytest.raises(SchemaError, match="field"):  # a has no default, so V1 cannot be resolved
        rows_of(over, entry(new), entry(new, (16, V2)), entry(old, (16, V1)))
    schema = restrict_to(whole, wanted.remove(1), topic=TOPIC, older=lambda: [former])
    over = EntryDecoder(
        schema, topic=TOPIC, partition=-1, fetch_schema=lambda v: {V1: former, V2: document}[v], batch_rows=9
    )
    rows = rows_of(over, entry(new), entry(new, (16, V2)), entry(old, (16, V1)))
    assert rows == [{"b": 7, "c": None}, {"b": 7, "c": None}, {"b": 8, "c": "x"}]


def test_columns_that_are_not_selected_are_not_decoded() -> None:
    for info in (JSON_INFO, avro_info(NEW), SchemaInfo("x", SchemaType.INT64)):
        assert rows_of(decoder(info, ["__messageSize"]), entry(b"\xff")) == [{"__messageSize": 1}]
    assert rows_of(decoder(JSON_INFO, ["tag"]), entry(b'{"id":"no number","tag":"x"}')) == [{"tag": "x"}]


def test_a_decoder_serves_the_next_split_of_its_query() -> None:
    decoders = []
    for info, query_identity in [(avro_info(NEW, V2), "a")] * 3 + [
        (avro_info(NEW, V1), "a"),
        (avro_info(NEW, V2), "b"),
    ]:
        over = lenient(info, "FAILFAST", fetch=lambda _: avro_info(OLD), query_identity=query_identity)
        decoders.append(over._decoder)
        assert rows_of(over, entry(avro({"id": 7}, OLD), (16, V1))) == [
            {"id": 7, "_corrupt_record": None, "__messageSize": 1}
        ]
    assert decoders[0] is decoders[1] is decoders[2]
    assert len({id(decoder) for decoder in decoders}) == 3, "another schema of the query, another role"


@pytest.mark.parametrize("then", ["another document", "none", "no answer"])
def test_a_decoder_serves_no_split_of_a_topic_that_was_made_again(then: str) -> None:
    first, second = (
        json.dumps({"type": "record", "name": "E", "fields": [{"name": n, "type": "int"} for n in names]})
        for names in (("id", "other"), ("other", "id"))
    )
    info, place = avro_info(NEW, V2), f"made again, {then}"
    versions: dict[bytes, SchemaInfo] = {V1: avro_info(first)}
    before = lenient(info, "FAILFAST", fetch=versions.get, query_identity=place)
    assert [row["id"] for row in rows_of(before, entry(b"\2\4", (16, V1)))] == [1]
    again = {V1: avro_info(second)} if then == "another document" else {}

    def fetch(version: bytes) -> SchemaInfo | None:
        if then == "no answer" and version == V1:
            raise ConnectionFailed("the broker is away")
        return again.get(version, avro_info(second))

    after = lenient(info, "FAILFAST", fetch=fetch, query_identity=place)
    assert [row["id"] for row in rows_of(after, entry(b"\2\4", (16, V2)))] == [2]
    if then == "another document":
        last = lenient(info, "FAILFAST", fetch=again.get, query_identity=place)
        assert [row["id"] for row in rows_of(last, entry(b"\2\4", (16, V1)))] == [2]


def test_a_decoder_with_many_versions_is_not_reused() -> None:
    taken = []
    for _ in range(2):
        over = lenient(
            avro_info(NEW, V2), "FAILFAST", fetch=lambda _: avro_info(OLD), query_identity="many versions"
        )
        taken.append(over._decoder)
        rows_of(over, *(entry(b"\2", (16, bytes([0] * 7 + [number]))) for number in range(9)))
    assert taken[0] is not taken[1]


def test_a_decoder_that_failed_refuses_further_calls() -> None:
    asked: list[bytes] = []

    def fetch(version: bytes) -> SchemaInfo | None:
        asked.append(version)
        return avro_info(OLD)

    place = "pulsar://failing"
    for number in range(2):
        over = lenient(avro_info(NEW, V2), "FAILFAST", fetch=fetch, query_identity=place)
        with pytest.raises(DecodeError, match=r"written with schema version 1\b"):
            rows_of(over, entry(b"\2\2", (16, V1)))
        assert len(asked) == number + 1
    half = lenient(avro_info(NEW, V2), "FAILFAST", fetch=fetch, query_identity=place)
    list(half.decode(pushed(entry(b"\2", (16, V1)))))
    again = lenient(avro_info(NEW, V2), "FAILFAST", fetch=fetch, query_identity=place)
    assert [row["id"] for row in rows_of(again, entry(b"\4", (16, V1)))] == [2]
