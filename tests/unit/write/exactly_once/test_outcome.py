"""The duration of a commit's retries, and the error for an unknown outcome."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_pulsar.errors import (
    CommitError,
    CommitUnfinished,
    DeadlineExceeded,
    PermissionDenied,
    PulsarError,
    SendError,
    WriterFenced,
)
from pyspark_pulsar.write.exactly_once import outcome
from pyspark_pulsar.write.exactly_once.outcome import (
    RowsLost,
    in_doubt,
    unfinished_after_decision,
    until_known,
)
from pyspark_pulsar.write.exactly_once.ownership import RunFenced
from pyspark_pulsar.write.exactly_once.state import Writer

JOB, QUERY = Writer("job", "job", "t"), Writer("query", "run", "t")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_PAUSE_SECONDS", 0.0)


def unfinished(cause: Exception) -> CommitUnfinished:
    fault = in_doubt(JOB, 0, "journal", cause)
    fault.__cause__ = cause
    return fault


def ends(*faults: PulsarError, patience: float = 60.0) -> str:
    left: Iterator[PulsarError] = iter(faults)

    def attempt() -> str:
        for fault in left:
            raise fault
        return "committed"

    return until_known(attempt, patience)


@pytest.mark.parametrize(
    "fault", [DeadlineExceeded("x"), SendError("x"), CommitError("x"), WriterFenced("x")]
)
def test_a_failure_before_the_decision_is_raised_immediately(fault: PulsarError) -> None:
    with pytest.raises(type(fault)):
        ends(fault)


@pytest.mark.parametrize("fault", [DeadlineExceeded("x"), SendError("x"), WriterFenced("x")])
def test_a_temporary_failure_after_the_decision_is_retried(fault: PulsarError) -> None:
    assert ends(unfinished(fault), fault, unfinished(fault)) == "committed"


@pytest.mark.parametrize("fault", [CommitError("not decided"), RunFenced("not decided")])
def test_a_later_attempt_may_find_that_nothing_was_decided(fault: PulsarError) -> None:
    with pytest.raises(type(fault), match="not decided"):
        ends(unfinished(DeadlineExceeded("x")), fault)


def test_a_permanent_failure_reports_an_unknown_outcome() -> None:
    with pytest.raises(CommitUnfinished, match="Do not run the job again"):
        ends(unfinished(DeadlineExceeded("x")), PermissionDenied("x"))


def test_retries_end_at_the_deadline() -> None:
    with pytest.raises(CommitUnfinished):
        ends(unfinished(DeadlineExceeded("x")), patience=-1.0)


def test_every_error_after_the_decision_reports_an_unknown_outcome() -> None:
    with (
        pytest.raises(
            CommitUnfinished, match=r"batch job job to t: .* failed: gone. All rows are visible, or"
        ) as told,
        unfinished_after_decision(JOB, 0, "journal"),
    ):
        raise DeadlineExceeded("gone")
    assert "pyspark-pulsar transactions resolve --journal journal" in str(told.value)
    with (
        pytest.raises(
            CommitUnfinished, match=r"^epoch 3 of streaming query query to t: .*Start the query again"
        ),
        unfinished_after_decision(QUERY, 3, "journal"),
    ):
        raise DeadlineExceeded("gone")
    with (
        pytest.raises(CommitUnfinished, match=r"5 rows are missing\. Do not repeat the whole write"),
        unfinished_after_decision(JOB, 0, "journal"),
    ):
        raise RowsLost("5 rows are missing")
