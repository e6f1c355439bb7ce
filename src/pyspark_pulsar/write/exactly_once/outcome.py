"""Ends of a commit that are neither success nor failure: its rows are decided, or may be, and not known as committed.

Before a decision is sent (step 6 of the package's head) an error means that no row becomes visible. Behind it that
would be a lie, and whoever believed it would write the rows again. So a commit goes on until it knows, for as long as
transactions live; then it says that it does not.
"""

from __future__ import annotations

import logging
import random
import time
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
from pyspark_pulsar.write.exactly_once.ownership import RunFenced
from pyspark_pulsar.write.exactly_once.state import Writer

_log = logging.getLogger(__name__)
_PAUSE_SECONDS: Final = 1.0

T = TypeVar("T")


class RowsLost(CommitError):
    """The broker has aborted transactions that were decided."""


def in_doubt(writer: Writer, epoch: int, journal: str, why: object) -> CommitUnfinished:
    """Of a decision that was sent and may be stored."""
    return CommitUnfinished(
        f"{_called(writer, epoch)}: expected to learn whether its commit was decided, but {why}: its rows may be "
        f"visible, or become so. {_what_to_do(writer, journal)}"
    )


@contextmanager
def behind_the_decision(writer: Writer, epoch: int, journal: str) -> Iterator[None]:
    """Raises `CommitUnfinished` for whatever fails in the block."""
    try:
        yield
    except CommitUnfinished:
        raise
    except RowsLost as fault:
        raise CommitUnfinished(f"{fault}. Do not run it again: its other rows are visible") from fault
    except PulsarError as fault:
        raise CommitUnfinished(
            f"{_called(writer, epoch)}: expected to commit what was decided, but {fault}: its rows are visible, or "
            f"some are and the others will be. {_what_to_do(writer, journal)}"
        ) from fault


def committed_all_the_same(writer: Writer, epoch: int, journal: str) -> CommitUnfinished:
    """Of a job that Spark counts as failed."""
    return CommitUnfinished(
        f"{_called(writer, epoch)}: expected not to have been decided, as Spark has given it up, but the journal "
        f"{journal} says that it was: all its rows are visible. Do not run it again"
    )


def _called(writer: Writer, epoch: int) -> str:
    return str(writer) if writer.is_job else f"epoch {epoch} of {writer}"


def _what_to_do(writer: Writer, journal: str) -> str:
    if not writer.is_job:
        return f"Start the query again, which finds out in the journal {journal} and finishes the epoch"
    return (
        f"Do not run the job again: pyspark-pulsar transactions resolve --journal {journal} --service-url URL finishes "
        f"what was decided and says what it was, and so does the next exactly-once job with this journal; behind "
        f"transactionTimeoutMs it says which rows are missing"
    )


def until_known(attempt: Callable[[], T], patience_seconds: float) -> T:
    """Call `attempt` until its outcome is known. What fails before anything was decided fails at once; from the first
    `CommitUnfinished` on, what may pass is tried again for so long, then that error is raised."""
    deadline = time.monotonic() + patience_seconds
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
        if not _may_pass(cause) or time.monotonic() > deadline:
            raise unfinished
        _log.warning("a commit is tried again, since it is not known to be finished: %s", cause)
        time.sleep(random.uniform(0.1, 1) * _PAUSE_SECONDS)  # noqa: S311 -- spreads those that wait for one broker


def _may_pass(cause: BaseException | None) -> bool:
    return isinstance(cause, ConnectionFailed | SendError | WriterFenced) and not isinstance(cause, RunFenced)


def _is_known(fault: PulsarError) -> bool:
    """Whether an attempt that fails so has read in the journal that nothing was decided."""
    return isinstance(fault, RunFenced) or (
        isinstance(fault, CommitError) and not isinstance(fault, WriterFenced)
    )
