"""Messages that do not decode, for each value of the option `mode`."""

import pytest
from unit.codec.handmade_entries import JSON_INFO, NEW, V1, V2, avro_info, entry, lenient, rows_of

from pyspark_pulsar.errors import (
    CorruptEntryError,
    SchemaError,
)
from pyspark_pulsar.schema.info import SchemaInfo

BAD_JSON = [b'{"id":1}', b'{"id":2} {"id":3}', b'{"id":"x"}', b"", b'{"id":4}', b"not JSON"]


def test_permissive_keeps_the_bytes_of_bad_rows(caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of(lenient(JSON_INFO, "PERMISSIVE"), *(entry(data) for data in BAD_JSON), entry(b"", (25, 1)))
    good = {0: 1, 4: 4}
    assert rows == [
        {"id": good.get(n), "_corrupt_record": None if n in good else data, "__messageSize": len(data)}
        for n, data in enumerate(BAD_JSON)
    ] + [{"id": None, "_corrupt_record": None, "__messageSize": 0}]
    (record,) = caplog.records
    assert record.name == "pyspark_pulsar.codec.decode"
    told = record.getMessage()
    assert told.startswith("topic persistent://")
    assert (
        "orders-partition-2: messages that did not decode and have no value (mode=PERMISSIVE): 4; the first: "
        "ledger 7, entry 1: " in told
    )
    assert told.endswith("; correct the producer of the message")


def test_dropmalformed_leaves_bad_rows_out(caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of(lenient(JSON_INFO, "DROPMALFORMED"), *(entry(data) for data in BAD_JSON))
    assert [row["id"] for row in rows] == [1, 4]
    assert (
        "messages that did not decode and were left out (mode=DROPMALFORMED): 4; the first: ledger"
        in caplog.text
    )


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_damaged_entries_fail_in_every_mode(mode: str) -> None:
    with pytest.raises(CorruptEntryError):
        rows_of(lenient(JSON_INFO, mode), entry(b"{}"), b"\x0e\x01\0\0\0\0" + entry(b"{}"))


FOREIGN = '{"type":"record","name":"R","fields":[{"name":"id","type":"string"}]}'


def test_an_incompatible_version_names_both() -> None:
    over = lenient(avro_info(NEW, V2), "FAILFAST", fetch=lambda _: avro_info(FOREIGN))
    with pytest.raises(SchemaError) as caught:
        rows_of(over, entry(b"\2a", (16, V1)))
    text = str(caught.value)
    assert "expected schema version 1 of messages to be readable as" in text
    assert "readable as schema version 2, which is the schema of the query" in text
    assert "string" in text.lower()
    # The error of the version contains its remedy, so the error of the read adds no second one.
    assert text.endswith("or read around these messages with mode=PERMISSIVE")
    assert text.count("compatible") == 1


def test_versions_that_are_lost_or_incompatible_make_bad_rows(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[bytes] = []

    def fetch(version: bytes) -> SchemaInfo | None:
        asked.append(version)
        return {V1: avro_info(FOREIGN), V2: avro_info(NEW)}.get(version)

    over = lenient(avro_info(NEW, V2), "PERMISSIVE", fetch=fetch)
    lost = b"\0\0\0\0\0\0\0\7"
    data = [
        entry(b"\2a", (16, V1)),
        entry(b"\4\0", (16, V2)),
        entry(b"\6\0", (16, lost)),
        entry(b"", (16, V1), (25, 1)),
    ]
    rows = rows_of(over, *data, *data)
    kept = [(row["id"], row["_corrupt_record"]) for row in rows]
    assert kept == [(None, b"\2a"), (2, None), (None, b"\6\0"), (None, None)] * 2
    assert sorted(asked) == [V1, V2, lost]
    assert (
        "messages that did not decode and have no value (mode=PERMISSIVE): 4; the first: ledger"
        in caplog.text
    )
    assert "expected schema version 1" in caplog.text
    assert "read around" not in caplog.text
