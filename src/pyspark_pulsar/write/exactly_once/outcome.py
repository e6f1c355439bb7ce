"""Outcomes of a commit that are neither success nor failure: the rows may be committed now, or by a later process.

Before a decision is sent (step 6 of the package), an error means that no row becomes visible. After the decision is
sent, an ordinary error would mislead the user into writing visible rows again. So a commit tries again until it knows
the outcome, or until the transactions time out. After the timeout, the commit reports that the outcome is unknown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from pyspark_pulsar.errors import (
    CommitError,
    CommitUnfinished,
    ConnectionFailed,
    PulsarError,
    SendError,
    WriterFenced,
)
from pyspark_pulsar.runtime import random, time
from pyspark_pulsar.write.exactly_once.ownership import RunFenced
from pyspark_pulsar.write.exactly_once.state import Writer

_log = logging.getLogger(__name__)
_PAUSE_SECONDS: Final = 1.0

T = TypeVar("T")


class RowsLost(CommitError):
    """The error for decided transactions that the broker has aborted."""


def in_doubt(writer: Writer, epoch: int, journal: str, why: object) -> CommitUnfinished:
    """Return the error for a decision that was sent, and that may or may not be stored."""
    return CommitUnfinished(
        f"{_described(writer, epoch)}: the outcome of the commit is unknown: {why}. The rows may be visible, "
        f"or may become visible later. {_advice(writer, journal)}"
    )


@contextmanager
def unfinished_after_decision(writer: Writer, epoch: int, journal: str) -> Iterator[None]:
    """Convert every `PulsarError` of the block to `CommitUnfinished`."""
    try:
        yield
    except CommitUnfinished:
        raise
    except RowsLost as fault:
        raise CommitUnfinished(
            f"{fault}. Do not repeat the whole write, because its other rows are visible"
        ) from fault
    except PulsarError as fault:
        raise CommitUnfinished(
            f"{_described(writer, epoch)}: committing the decided transactions failed: {fault}. All rows are visible, "
            f"or some rows are visible and the others can still become visible. {_advice(writer, journal)}"
        ) from fault


def committed_all_the_same(writer: Writer, epoch: int, journal: str) -> CommitUnfinished:
    """Return the error for a job that is committed, although Spark treats the job as failed."""
    return CommitUnfinished(
        f"{_described(writer, epoch)}: Spark reports that the job failed, but the journal {journal} shows that the "
        f"job is committed. All its rows are visible. Do not run the job again"
    )


def _described(writer: Writer, epoch: int) -> str:
    return str(writer) if writer.is_job else f"epoch {epoch} of {writer}"


def _advice(writer: Writer, journal: str) -> str:
    if not writer.is_job:
        return f"Start the query again, so that it reads the outcome in the journal {journal} and finishes the epoch"
    return (
        f"Do not run the job again. To finish the commit and see its outcome, run pyspark-pulsar transactions "
        f"resolve --journal {journal} --service-url URL. If transactions of the job have timed out "
        f"(transactionTimeoutMs), the command names the missing rows"
    )


def until_known(attempt: Callable[[], T], retry_seconds: float) -> T:
    """Call `attempt` until its outcome is known, and return its result.

    A failure before the decision is raised immediately. After a `CommitUnfinished`, `attempt` is called again for
    `retry_seconds` if the cause is temporary. Otherwise, or after this time, the last `CommitUnfinished` is raised.
    """
    deadline = time.monotonic() + retry_seconds
    unfinished: CommitUnfinished | None = None
    while True:
        try:
            return attempt()
        except CommitUnfinished as fault:
            unfinished, cause = fault, fault.__cause__
        except PulsarError as fault:
            if unfinished is None or _is_known(fault):
                raise
            cause = fault
        if not _is_temporary(cause) or time.monotonic() > deadline:
            raise unfinished
        _log.warning("retrying a commit, because its outcome is unknown: %s", cause)
        time.sleep(random.uniform(0.1, 1) * _PAUSE_SECONDS)


def _is_temporary(cause: BaseException | None) -> bool:
    return isinstance(cause, ConnectionFailed | SendError | WriterFenced) and not isinstance(cause, RunFenced)


def _is_known(fault: PulsarError) -> bool:
    """Return whether the failed attempt has found in the journal that the epoch is not decided."""
    return isinstance(fault, RunFenced) or (
        isinstance(fault, CommitError) and not isinstance(fault, WriterFenced)
    )
