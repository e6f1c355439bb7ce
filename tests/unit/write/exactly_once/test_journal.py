"""The journal's state as a record and back, a new run's takeover, and the owner of a journal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import CommitError, JournalTaken, WriterFenced
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.write.exactly_once.ownership import is_committed_job, refuse_others
from pyspark_pulsar.write.exactly_once.state import (
    NO_EPOCH,
    BegunTransaction,
    FencedRun,
    JournalState,
    PreparedTransaction,
    Writer,
    begun_of,
    begun_record,
    state_of,
    state_record,
)

STATE = JournalState(
    writer=Writer("query", "run", "persistent://t/n/orders"),
    epoch=7,
    transactions=(PreparedTransaction((2**63 + 1, 5), 0, 100), PreparedTransaction((0, 1), 1, 0)),
    done=False,
    fenced_runs=(FencedRun("older", 6),),
    begun=Position(1, 2, 0),
    ended=Position(3, 4, 1),
    row_digest=RowDigest(100, 2**64 - 1),
)
JOB = Writer("job", "job", "persistent://t/n/orders")


@pytest.mark.parametrize("state", [STATE, JournalState(Writer("query", "run")), STATE.release()])
def test_a_state_survives_json(state: JournalState) -> None:
    found = state_of(json.loads(json.dumps(state_record(state))), "journal")
    assert (found, found.writer.target) == (state, state.writer.target)


@pytest.mark.parametrize(
    ("partitions", "record"),
    [
        ((), {}),
        (("persistent://t/n/a",), {"persistent://t/n/a": 0}),
        (
            tuple(f"persistent://t/n/a-partition-{index}" for index in range(1000)),
            {"persistent://t/n/a": 1000},
        ),
        (("persistent://t/n/a-partition-1",), {"persistent://t/n/a-partition-1": 0}),
        (("persistent://t/n/a-partition-00",), {"persistent://t/n/a-partition-00": 0}),
        (
            ("persistent://t/n/a", "persistent://t/n/a-partition-0", "persistent://t/n/b-partition-0"),
            {"persistent://t/n/a": 0, "persistent://t/n/a-partition-0": 0, "persistent://t/n/b": 1},
        ),
    ],
)
def test_a_begun_transaction_survives_json(partitions: tuple[str, ...], record: dict[str, int]) -> None:
    begun = BegunTransaction((2**63 + 1, 5), JOB, 3, partitions)
    text = json.dumps(begun_record(begun))
    assert json.loads(text)["partitions"] == record
    found = begun_of(json.loads(text), "journal")
    assert (found, set(found.partitions)) == (replace(begun, partitions=found.partitions), set(partitions))


def test_a_record_of_another_version_is_refused() -> None:
    with pytest.raises(CommitError, match="expected records of version 1, got version 2"):
        state_of({**state_record(STATE), "version": 2}, "journal")


@pytest.mark.parametrize("missing", sorted(state_record(STATE).keys() - {"rows"}))
def test_a_foreign_record_is_refused(missing: str) -> None:
    content = {key: value for key, value in state_record(STATE).items() if key != missing}
    with pytest.raises(CommitError, match="transactionJournal"):
        state_of(content, "journal")


def test_a_restart_keeps_the_epoch_and_its_rows() -> None:
    next_run = STATE.taken_over_by(Writer("query", "next"))
    assert (next_run.epoch, next_run.row_digest) == (7, STATE.row_digest)
    assert next_run.fenced_runs == (FencedRun("older", 6), FencedRun("run", 7))
    assert next_run.transactions == ()


def test_another_owner_begins_at_the_first_epoch() -> None:
    next_run = STATE.release().taken_over_by(Writer("other", "next"))
    assert (next_run.epoch, next_run.row_digest, next_run.released) == (NO_EPOCH, None, False)


def test_an_abandoned_job_may_not_write() -> None:
    state = JournalState(JOB).give_up(JOB)
    with pytest.raises(
        WriterFenced,
        match=r"batch job job .*but the job has failed, or the journal was released by hand, as the journal",
    ):
        refuse_others(state, JOB, "journal")
    assert is_committed_job(state, JOB) is False
    following = Writer("next", "next", "persistent://t/n/orders")
    refuse_others(state, following, "journal")
    state = JournalState(following).give_up(JOB)
    with pytest.raises(WriterFenced, match=r"batch job next .*has taken over, or the job has failed, as"):
        refuse_others(state, JOB, "journal")
    refuse_others(state, following, "journal")


def test_the_number_of_fenced_runs_is_limited() -> None:
    state = STATE
    for number in range(500):
        state = state.taken_over_by(Writer("query", str(number)))
    assert len(state.fenced_runs) == 100
    assert state.fenced_runs[-1].run == "498"


def test_committed_jobs_are_remembered_longer_than_failed_ones() -> None:
    committed = Writer("committed", "committed")
    state = replace(JournalState(committed), epoch=0).taken_over_by(JOB)
    for number in range(500):
        state = state.give_up(Writer(str(number), str(number)))
    assert len(state.fenced_runs) == 100
    assert is_committed_job(state, committed)
    assert state.fenced_runs[-1].run == "499"


@pytest.mark.parametrize(
    ("owner", "writer"),
    [
        (Writer("query", "run"), Writer("other", "next")),
        (Writer("query", "run", "t"), Writer("query", "next", "u")),
        (Writer("query", "run"), JOB),
        (JOB, Writer("query", "run")),
    ],
)
def test_a_journal_of_another_owner_is_refused(owner: Writer, writer: Writer) -> None:
    with pytest.raises(JournalTaken) as refused:
        refuse_others(JournalState(owner), writer, "journal")
    said = str(refused.value)
    assert f"expected the journal of {writer}, got the journal of {owner}, which is unchanged" in said
    assert "transactionJournal" in said
    assert "resolve --journal journal --release" in said
    if owner.owner != writer.owner:
        refuse_others(JournalState(owner).release(), writer, "journal")


@pytest.mark.parametrize(
    ("owner", "writer"),
    [
        (Writer("query", "run", "t"), Writer("query", "next", "t")),
        (Writer("query", "run"), Writer("query", "next", "t")),
        (JOB, Writer("next", "next", "another topic")),
    ],
)
def test_the_owner_may_use_its_journal(owner: Writer, writer: Writer) -> None:
    refuse_others(JournalState(owner), writer, "journal")


def test_a_fenced_or_released_run_is_refused() -> None:
    state = JournalState(Writer("query", "a")).taken_over_by(Writer("query", "b"))
    with pytest.raises(WriterFenced, match="streaming query query has taken over"):
        refuse_others(state, Writer("query", "a"), "journal")
    with pytest.raises(WriterFenced, match="released by hand"):
        refuse_others(state.release(), Writer("query", "b"), "journal")
    refuse_others(state.release(), Writer("query", "c"), "journal")


def test_a_takeover_records_whether_the_job_was_decided() -> None:
    next_job = Writer("next", "next")
    undecided, decided = JournalState(JOB), JournalState(JOB, epoch=0)
    assert is_committed_job(undecided.taken_over_by(next_job), JOB) is False
    assert is_committed_job(decided.taken_over_by(next_job), JOB) is True
    assert is_committed_job(decided, JOB) is False
