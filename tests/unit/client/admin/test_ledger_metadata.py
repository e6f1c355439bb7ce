"""Tests of the parser for ledger metadata, with texts from Pulsar 4.0.8."""

import pytest

from pyspark_pulsar.client.admin.ledger_metadata import parse_ledger_metadata
from pyspark_pulsar.client.ledger import Ensemble, LedgerMetadata

CLOSED = (
    "LedgerMetadata{formatVersion=3, ensembleSize=3, writeQuorumSize=2, ackQuorumSize=2, state=CLOSED, "
    "length=11741405, lastEntryId=9999, digestType=CRC32C, password=OMITTED, "
    "ensembles={0=[127.0.0.1:45159, 127.0.0.1:46715, bookie-2.x.svc:3181]}, "
    "customMetadata={pulsar/managed-ledger=base64:cHVi, component=base64:bWFuYWdlZC1sZWRnZXI=}}"
)


def test_a_closed_ledger() -> None:
    bookies = ("127.0.0.1:45159", "127.0.0.1:46715", "bookie-2.x.svc:3181")
    assert parse_ledger_metadata(CLOSED) == LedgerMetadata(2, "CRC32C", (Ensemble(0, bookies),))


def test_changed_ensembles_are_in_order() -> None:
    text = CLOSED.replace("ensembles={0=[", "ensembles={120=[a, b, c], 7=[a, b, d], 0=[")
    metadata = parse_ledger_metadata(text)
    assert metadata is not None
    assert [(each.first_entry, each.bookies[0]) for each in metadata.ensembles] == [
        (0, "127.0.0.1:45159"),
        (7, "a"),
        (120, "a"),
    ]


def test_the_name_of_the_digest_with_a_password() -> None:
    metadata = parse_ledger_metadata(CLOSED.replace("CRC32C", "MAC"))
    assert metadata is not None
    assert metadata.digest == "HMAC"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        CLOSED.replace("digestType=CRC32C, ", ""),
        CLOSED.replace("digestType=CRC32C", "digestType=SHA9"),
        CLOSED.replace("writeQuorumSize=2, ", ""),
        CLOSED.replace("writeQuorumSize=2", "writeQuorumSize=4"),
        CLOSED.replace("writeQuorumSize=2", "writeQuorumSize=0"),
        CLOSED.replace("{0=[", "{1=["),
        CLOSED.replace("{0=[127.0.0.1:45159, 127.0.0.1:46715, bookie-2.x.svc:3181]}", "{}"),
        CLOSED.replace("127.0.0.1:45159", ""),
    ],
)
def test_a_text_that_does_not_say_all_says_nothing(text: str) -> None:
    assert parse_ledger_metadata(text) is None
