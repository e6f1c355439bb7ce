"""Topics whose ledgers lie in all places: each reader gives exactly the rows of the broker's reader."""

from __future__ import annotations

from collections import Counter

from integration.cluster.everywhere import PARTITIONS, PLAIN, Everywhere


def test_the_topics_are_what_they_are_to_be(everywhere: Everywhere) -> None:
    for name in PARTITIONS:
        print(name, Counter(everywhere.places[name].values()), len(everywhere.rows[name]))
        assert set(everywhere.places[name].values()) == {
            "bucket",
            "folder",
            "two bookies",
            "three bookies",
            "open",
        }
    assert len(everywhere.rows[PLAIN]) > 1000
