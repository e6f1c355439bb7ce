"""The soak's comparison finds what it is there for: rows lost, repeated, swapped or made up, and nothing else."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from soak.sink import Sent, delivered, faults

KEYS = 4
SENT = Sent({f"k{key}": 60 for key in range(KEYS)})
EPOCHS = 3
SPLITS = 2

Rows = list[tuple[str, int]]


def good_rows() -> Rows:
    return [(f"k{key}", number) for number in range(60) for key in range(KEYS)]


def write(folder: Path, epoch: int, split: int, rows: Rows) -> Path:
    target = folder / f"epoch={epoch}"
    target.mkdir(parents=True, exist_ok=True)
    (target / "_SUCCESS").touch()
    path = target / f"part-{split:05d}-x-c000.snappy.parquet"
    columns = {
        "key": [key for key, _ in rows],
        "number": pa.array([number for _, number in rows], pa.int64()),
    }
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    """The good rows in several epochs of several splits."""
    rows, share = good_rows(), KEYS * 60 // (EPOCHS * SPLITS)
    for part in range(EPOCHS * SPLITS):
        # Epochs beyond the ninth, so that their names do not sort as their numbers do.
        write(tmp_path, 8 + part // SPLITS, part % SPLITS, rows[part * share : (part + 1) * share])
    return tmp_path


def test_a_sink_with_everything_once_and_in_order_is_right(sink: Path) -> None:
    assert list(delivered(sink)) == good_rows()
    assert faults(delivered(sink), SENT) == []


@pytest.mark.parametrize("seed", range(20))
def test_one_row_less_is_found(seed: int) -> None:
    rows = good_rows()
    key, number = rows.pop(random.Random(seed).randrange(len(rows)))
    assert faults(rows, SENT) == [f"{key}: 1 of 60 missing, first {number}"]


@pytest.mark.parametrize("seed", range(20))
def test_one_row_twice_is_found(seed: int) -> None:
    rows, chance = good_rows(), random.Random(seed)
    key, number = chance.choice(rows)
    rows.insert(chance.randrange(len(rows)), (key, number))
    assert f"{key}: 1 repeated, first {number}" in faults(rows, SENT)


@pytest.mark.parametrize("seed", range(20))
def test_two_swapped_rows_of_a_key_are_found(seed: int) -> None:
    rows = good_rows()
    first, second = sorted(random.Random(seed).sample(range(60), 2))
    one, other = rows.index(("k1", first)), rows.index(("k1", second))
    rows[one], rows[other] = rows[other], rows[one]
    assert [fault.partition(" out of order")[0][:3] for fault in faults(rows, SENT)] == ["k1:"]


def test_rows_of_other_keys_may_overtake() -> None:
    assert faults(sorted(good_rows()), SENT) == []


def test_a_row_that_was_never_sent_is_found() -> None:
    assert faults([*good_rows(), ("k1", 60)], SENT) == ["k1: 1 that were never sent, first 60"]
    assert faults([*good_rows(), ("other", 0)], SENT) == ["other: 1 that were never sent, first 0"]


def test_a_message_without_receipt_may_be_there_once_or_not() -> None:
    unsure = Sent(SENT.counts, frozenset({("k2", 59)}))
    rows = good_rows()
    without = [row for row in rows if row != ("k2", 59)]
    assert faults(rows, unsure) == faults(without, unsure) == []
    assert faults([*rows, ("k2", 59)], unsure) == ["k2: 1 repeated, first 59"]


def test_an_epoch_that_is_lost_repeated_or_moved_is_found(sink: Path) -> None:
    shutil.copytree(sink / "epoch=9", sink / "epoch=11")
    assert [fault for fault in faults(delivered(sink), SENT) if "repeated" in fault]
    shutil.rmtree(sink / "epoch=9")
    found = faults(delivered(sink), SENT)
    assert len(found) == KEYS
    assert all("out of order" in fault for fault in found)
    shutil.rmtree(sink / "epoch=11")
    assert all("20 of 60 missing" in fault for fault in faults(delivered(sink), SENT))


def test_a_split_in_the_wrong_place_is_found(sink: Path) -> None:
    first, second = sorted((sink / "epoch=8").glob("part-*"))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    assert all("out of order" in fault for fault in faults(delivered(sink), SENT))


def test_an_epoch_that_was_not_finished_is_an_error(sink: Path) -> None:
    (sink / "epoch=10" / "_SUCCESS").unlink()
    with pytest.raises(AssertionError, match="epoch=10"):
        list(delivered(sink))
