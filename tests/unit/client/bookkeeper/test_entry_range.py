"""Tests of the error for an entry that no bookie returns."""

import pytest

from pyspark_pulsar.client.bookkeeper.connection.response_status import DAMAGED, NO_ENTRY, NO_LEDGER, describe
from pyspark_pulsar.client.bookkeeper.entry_range import EntryRange
from pyspark_pulsar.errors import LedgerUnavailable

RUN = EntryRange("persistent://public/default/t", 7, 0, 9, "CRC32C")


def test_every_bookie_is_named_with_its_answer() -> None:
    error = RUN.unavailable(
        4, {"a:1": describe(NO_ENTRY), "b:2": "closed the connection", "c:3": describe(999)}
    )
    assert "persistent://public/default/t, ledger 7, entry 4" in str(error)
    assert "a:1 does not have the entry; b:2 closed the connection; c:3 answered code 999" in str(error)
    assert "readFrom=broker" in str(error)
    assert "deleted" not in str(error)


def test_a_ledger_that_no_bookie_has_was_deleted() -> None:
    assert "the ledger was deleted after the read was planned" in str(
        RUN.unavailable(4, {"a": describe(NO_LEDGER), "b": describe(NO_LEDGER)})
    )


def test_an_unknown_digest_may_be_one_with_a_password() -> None:
    assert "HMAC" not in str(RUN.unavailable(4, {"a": describe(DAMAGED)}))
    assert "HMAC" in str(EntryRange("t", 7, 0, 9).unavailable(4, {"a": describe(DAMAGED)}))
    with pytest.raises(LedgerUnavailable, match=r"t, ledger 7:.*digest MAC.*readFrom=broker"):
        EntryRange("t", 7, 0, 9, "MAC").frames()
