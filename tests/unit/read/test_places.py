"""Which reader a ledger gets."""

from __future__ import annotations

import pytest

from pyspark_pulsar.client.ledger import Ensemble, Ledger, Striping
from pyspark_pulsar.errors import LedgerUnavailable
from pyspark_pulsar.read.places import Places
from pyspark_pulsar.topic import TopicPartition

A = TopicPartition.parse("a")
BOOKIES = ("b:1", "b:2", "b:3")
STRIPED = Striping(2, "CRC32C", (Ensemble(0, BOOKIES),))
CLOSED = Ledger(7, 10, 100, None, 1000, striping=STRIPED)
OPEN = Ledger(8, 10, 100, 1000, None)
OFFLOADED = Ledger(6, 10, 100, None, 900, offload_id="u")


def place(read_from: str, ledger: Ledger, *up: str) -> str:
    return Places(read_from, BOOKIES, frozenset(up)).of(A, ledger).name


@pytest.mark.parametrize("read_from", ["auto", "broker", "bookie", "tiered"])
def test_the_open_ledger_comes_from_the_broker(read_from: str) -> None:
    assert place(read_from, OPEN, *BOOKIES) == "broker"


def test_what_is_named_is_the_only_place() -> None:
    assert place("broker", CLOSED, *BOOKIES) == "broker"
    assert place("bookie", CLOSED) == "bookie"
    with pytest.raises(LedgerUnavailable, match=r"ledger 7: .*not offloaded"):
        place("tiered", CLOSED)


@pytest.mark.parametrize(
    ("up", "found"),
    [(BOOKIES, "bookie"), (BOOKIES[:2], "bookie"), (BOOKIES[:1], "broker"), ((), "broker")],
)
def test_auto_asks_bookies_that_hold_a_replica_of_each_entry(up: tuple[str, ...], found: str) -> None:
    assert place("auto", CLOSED, *up) == found


def test_every_ensemble_counts() -> None:
    striping = Striping(2, "CRC32C", (Ensemble(0, BOOKIES), Ensemble(4, ("b:1", "b:8", "b:9"))))
    assert place("auto", Ledger(7, 10, 100, None, 1000, striping=striping), *BOOKIES) == "broker"


def test_unknown_striping_and_digests_with_a_password() -> None:
    unknown = Ledger(7, 10, 100, None, 1000)
    assert place("auto", unknown, "b:1") == "bookie"
    assert place("auto", unknown) == "broker"
    secret = Ledger(7, 10, 100, None, 1000, striping=Striping(2, "HMAC", STRIPED.ensembles))
    assert place("auto", secret, *BOOKIES) == "broker"


def test_all_bookies_travel_only_where_the_striping_is_unknown() -> None:
    places = Places("bookie", BOOKIES)
    assert places.of(A, CLOSED).bookies == ()
    assert places.of(A, Ledger(7, 10, 100, None, 1000)).bookies == BOOKIES
