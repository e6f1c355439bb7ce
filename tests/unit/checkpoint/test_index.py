"""The state that an index makes: against a simple model, through snapshots, and with records that are missing."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from unit.checkpoint.random_records import Model, as_records, changes, seen_in

from pyspark_pulsar.checkpoint.index.records import Kind, Record, decode, encode
from pyspark_pulsar.checkpoint.index.replay import Bodies, Replay
from pyspark_pulsar.checkpoint.index.snapshot import Snapshot
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import Outcome
from pyspark_pulsar.checkpoint.upkeep.cleaner import files_in, overdue_ledgers
from pyspark_pulsar.errors import CheckpointLost

drawn = st.lists(changes, max_size=60)


def state_of(records: list) -> IndexState:
    state = IndexState()
    for place, record in records:
        state.apply(place, record)
    return state


def replayed(records: list) -> Replay:
    replay = Replay("topic")
    for place, record in records:
        replay.take(place, decode(encode(record), "here"))
    return replay


def whole(replay: Replay) -> tuple:
    """Return everything that a state contains."""
    state = replay.state
    files = {
        each.id: (each.length, each.modified_ms, each.chunks, replay.bodies.get(each.id))
        for each in state.tree.files.values()
    }
    return seen_in(state), files, state.floor, state.uploads, state.written, state.recent, replay.last


def with_snapshot(records: list, at: int, behind: int, part_bytes: int) -> list:
    """Return `records` with a snapshot after the first `at`; the `behind` records that follow are between its
    parts.
    """
    prefix = replayed(records[:at])
    snapshot = Snapshot.from_state(prefix.state, prefix.last)
    bodies = {file_id: prefix.bodies.get(file_id) for file_id in prefix.state.tree.files}
    parts = list(snapshot.parts("s", lambda file: bodies[file.id] or b"", part_bytes))
    rest = records[at:]
    mixed, step = [], max(1, behind // len(parts))
    while rest or parts:
        if parts:
            details, body = parts.pop(0)
            mixed.append((Kind.SNAPSHOT, details, body))
        mixed.extend(rest[:step])
        rest = rest[step:]
    found = list(records[:at])
    for number, each in enumerate(mixed):
        place = (100 + number // 5, number % 5)
        if isinstance(each[0], Kind):
            found.append((place, Record(each[0], f"s{number}", "x", 0, found[-1][0], None, each[1], each[2])))
        else:
            found.append((place, replace(each[1], seen=found[-1][0])))
    return found


@given(drawn)
@settings(max_examples=300)
def test_the_state_is_that_of_a_simple_model(drawn: list) -> None:
    records = as_records(drawn)
    model, state = Model(), IndexState()
    for place, record in records:
        before = seen_in(state)
        outcome = state.apply(place, record)
        model.apply(record)
        assert seen_in(state) == (model.owner, model.folders, model.files), record
        if outcome is not Outcome.DONE:
            assert seen_in(state)[::2] == before[::2], "what is refused changes no file and no owner"
    assert (state.floor or (0, 0)) == model.floor


@given(drawn, st.data())
def test_a_record_that_is_stored_twice_counts_once(drawn: list, data: st.DataObject) -> None:
    records = as_records(drawn)
    twice = []
    for place, record in records:
        twice.append(((place[0], place[1] * 10), record))
        if data.draw(st.booleans()) and record.kind is not Kind.FORMAT:
            twice.append(((place[0], place[1] * 10 + 1), record))
    assert seen_in(state_of(twice)) == seen_in(state_of(records))


@given(drawn, st.data())
@settings(max_examples=200)
def test_from_an_anchor_on_the_state_is_the_same(drawn: list, data: st.DataObject) -> None:
    records = as_records(drawn)
    at = data.draw(st.integers(2, len(records)))
    found = with_snapshot(records, at, data.draw(st.integers(0, 20)), 200)
    expected = whole(replayed(found))
    assert expected[0] == seen_in(state_of(records))
    # The anchor is the last record before the snapshot: what is before it may be gone, in any part.
    for first in {at - 1, data.draw(st.integers(0, at - 1)), 0}:
        replay = replayed(found[first:])
        assert whole(replay) == expected
        assert replay.anchor == found[at - 1][0]
    # The records after the anchor may not be missing.
    for first in {at, data.draw(st.integers(at, len(found)))}:
        assert replayed(found[first:]).state is None


def test_of_two_snapshots_beside_each_other_the_later_one_counts() -> None:
    """The previous owner still writes its snapshot when the next owner begins another one."""
    records = as_records([])
    earlier = replayed(records)
    others = [
        Record(Kind.MKDIR, f"m{n}", earlier.state.owner, 0, None, None, {"path": f"d{n}"}) for n in range(2)
    ]
    records += [((50, n), record) for n, record in enumerate(others)]
    later = replayed(records)

    def parts(replay: Replay, name: str) -> list:
        snapshot = Snapshot.from_state(replay.state, replay.last)
        (details, body), *_ = snapshot.parts(name, lambda _: b"")
        # An empty second part.
        return [
            ({**details, "parts": 2}, body),
            ({**details, "part": 1, "parts": 2, "entries": []}, b""),
        ]

    (old_0, old_1), (new_0, new_1) = parts(earlier, "old"), parts(later, "new")
    mixed = [old_0, new_0, old_1, new_1]
    snapshots = [
        ((60, n), Record(Kind.SNAPSHOT, f"s{n}", "", 0, None, None, details, body))
        for n, (details, body) in enumerate(mixed)
    ]
    found = replayed(records[-1:] + snapshots)
    assert found.anchor == later.last
    assert seen_in(found.state) == seen_in(later.state)


@given(drawn, st.data())
def test_a_missing_record_is_noticed(drawn: list, data: st.DataObject) -> None:
    records = as_records(drawn)
    gone = data.draw(st.integers(1, len(records) - 1))
    behind = records[gone + 1 :]
    replay = replayed(records[:gone])
    if behind:
        with pytest.raises(CheckpointLost, match="records of the index were removed"):
            replay.take(*behind[0])


def test_the_first_of_many_creators_wins_in_every_order(rng: random.Random) -> None:
    head = as_records([])
    for _ in range(200):
        creators = [
            Record(
                Kind.PUT_IF_ABSENT,
                f"{n:x}",
                rng.choice("ab"),
                0,
                None,
                None,
                {"path": "offsets/7", "length": 0},
            )
            for n in range(8)
        ]
        rng.shuffle(creators)
        state = state_of(head)
        outcomes = [state.apply((9, n), record) for n, record in enumerate(creators)]
        of_owner = [n for n, record in enumerate(creators) if record.owner == "a"]
        winners = [n for n, outcome in enumerate(outcomes) if outcome is Outcome.DONE]
        assert winners == of_owner[:1]
        others = {"a": Outcome.EXISTS, "b": Outcome.TAKEN_OVER}
        assert all(
            outcome is others[record.owner]
            for n, (record, outcome) in enumerate(zip(creators, outcomes, strict=True))
            if n not in winners
        )


def test_a_floor_and_a_file_after_it() -> None:
    state = state_of(as_records([]))

    def apply(kind: Kind, number: int, **details: object) -> Outcome:
        return state.apply((9, number), Record(kind, f"n{number}", "a", 0, None, None, details))

    assert apply(Kind.PUT, 1, path="f", length=1, chunks=[[5, 3, 1, 0]]) is Outcome.DONE
    assert apply(Kind.UPLOAD, 2, file="n8", at="4:0") is Outcome.DONE
    assert apply(Kind.FLOOR, 3, at="5:0") is Outcome.INVALID, "an upload needs more"
    assert apply(Kind.UPLOAD, 4, file="n8", at=None) is Outcome.DONE
    assert apply(Kind.FLOOR, 5, at="5:4") is Outcome.INVALID, "a file needs more"
    assert apply(Kind.FLOOR, 6, at="5:3") is Outcome.DONE
    assert apply(Kind.PUT, 7, path="g", length=1, chunks=[[5, 2, 1, 0]]) is Outcome.STALE
    assert apply(Kind.MOVE, 8, file="n1", chunks=[[5, 1, 1, 0]]) is Outcome.STALE
    assert apply(Kind.MOVE, 9, file="n1", chunks=[[6, 1, 1, 0]]) is Outcome.DONE
    assert apply(Kind.MOVE, 10, file="gone", chunks=[[6, 1, 1, 0]]) is Outcome.NOT_FOUND
    assert apply(Kind.FLOOR, 11, at="6:1") is Outcome.DONE
    assert state.first_needed() == (6, 1)


@given(
    st.dictionaries(st.integers(1, 12), st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1),
)
def test_the_cleaner_leaves_no_more_than_a_ledger_that_no_file_needs(
    sizes: dict[int, tuple[int, int]],
) -> None:
    state = state_of(as_records([]))
    number = 0
    for ledger, (needed, dropped) in sorted(sizes.items()):
        for path, length in ((f"kept{ledger}", needed), (f"gone{ledger}", dropped)):
            number += 1
            details = {"path": path, "length": length, "chunks": [[ledger, number, length, 0]]}
            state.apply((9, number), Record(Kind.PUT, f"n{number}", "a", 0, None, None, details))
        details = {"path": f"gone{ledger}", "recursive": False}
        state.apply((9, number), Record(Kind.DELETE, f"d{number}", "a", 0, None, None, details))
    overdue = overdue_ledgers(state)
    closed = sorted(sizes)[:-1]
    assert sorted(overdue) == closed[: len(overdue)], "the oldest, since only those can go"
    left = sum(sizes[ledger][1] for ledger in closed if ledger not in overdue)
    assert left <= max(sum(pair) for pair in sizes.values())
    assert {chunk for old in files_in(state, overdue) for chunk in old.moved} == {
        chunk.position
        for file in state.tree.files.values()
        for chunk in file.chunks
        if chunk.ledger in overdue
    }


def test_bodies_keep_within_their_bound_and_the_last_used_stay() -> None:
    bodies = Bodies(most_bytes=10)
    for name in "abc":
        bodies.put(name, b"1234")
    assert [bodies.get(name) for name in "abc"] == [None, b"1234", b"1234"]
    bodies.get("b")
    bodies.put("d", b"1234")
    assert [bodies.get(name) for name in "bcd"] == [b"1234", None, b"1234"]
