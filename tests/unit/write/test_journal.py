"""The journal's state as a record and back, and what a new run takes over."""

from __future__ import annotations

import json

import pytest

from pyspark_pulsar.errors import CommitError
from pyspark_pulsar.message_id import Position
from pyspark_pulsar.write.journal import (
    NO_EPOCH,
    Prepared,
    State,
    Writer,
    _state,
    _state_record,
)

STATE = State(
    writer=Writer("query", "run"),
    epoch=7,
    transactions=(Prepared((2**63 + 1, 5), 0, 100), Prepared((0, 1), 1, 0)),
    done=False,
    former=("older",),
    begun=Position(1, 2, 0),
    ended=Position(3, 4, 1),
)


def test_a_state_survives_json() -> None:
    assert _state(json.loads(json.dumps(_state_record(STATE))), "journal") == STATE
    first = State(Writer("query", "run"))
    assert _state(json.loads(json.dumps(_state_record(first))), "journal") == first


def test_a_record_of_another_version_is_refused() -> None:
    with pytest.raises(CommitError, match="expected records of version 1, got 2"):
        _state({**_state_record(STATE), "version": 2}, "journal")


@pytest.mark.parametrize("missing", sorted(_state_record(STATE)))
def test_a_foreign_record_is_refused(missing: str) -> None:
    content = {key: value for key, value in _state_record(STATE).items() if key != missing}
    with pytest.raises(CommitError, match="transactionJournal"):
        _state(content, "journal")


def test_a_restart_keeps_the_epoch() -> None:
    next_run = STATE.taken_over_by(Writer("query", "next"))
    assert (next_run.epoch, next_run.former) == (7, ("older", "run"))
    assert next_run.transactions == ()


def test_another_query_numbers_its_epochs_anew() -> None:
    assert STATE.taken_over_by(Writer("other", "next")).epoch == NO_EPOCH


def test_former_runs_are_bounded() -> None:
    state = STATE
    for number in range(500):
        state = state.taken_over_by(Writer("query", str(number)))
    assert len(state.former) == 100
    assert state.former[-1] == "498"
