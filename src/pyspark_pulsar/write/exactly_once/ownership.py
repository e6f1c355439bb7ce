"""The owner of a journal, and the check that refuses other writers before they change the journal."""

from __future__ import annotations

from pyspark_pulsar.errors import JournalTaken, WriterFenced
from pyspark_pulsar.write.exactly_once.state import EPOCH_OF_A_JOB, JournalState, Writer


class RunFenced(WriterFenced):
    """The error for a run that is fenced permanently. The cause of any other `WriterFenced` may be temporary."""


def refuse_others(state: JournalState | None, writer: Writer, journal: str) -> None:
    """Raise an error if the writer is not allowed to write to the journal.

    Raises:
        RunFenced: Another run has taken over from the writer's run, or the job was given up, or the journal was
            released.
        JournalTaken: The journal belongs to another owner.

    """
    if state is None:
        return
    if state.fenced_run(writer) is not None:
        if state.writer != writer:
            now = f"{state.writer} has taken over" + (", or the job has failed" if writer.is_job else "")
        else:
            now = ("the job has failed, or " if writer.is_job else "") + "the journal was released by hand"
        raise RunFenced(
            f"{writer}: expected run {writer.run} to be the only writer, but {now}, as the journal {journal} shows "
            f"(run {state.writer.run}). Epochs of run {writer.run} that were decided earlier are committed, and "
            f"nothing else of the run counts as written; run only one query per checkpoint, and set a separate "
            f"transactionJournal for each of several concurrent jobs"
        )
    if not state.belongs_to(writer):
        raise JournalTaken(
            f"{journal}: expected the journal of {writer}, got the journal of {state.writer}, which is unchanged. "
            f"Nothing was written; set option transactionJournal to another name, or remove the option. If the other "
            f"writer will never start again, run pyspark-pulsar transactions resolve --journal {journal} --release "
            f"--service-url URL"
        )


def is_committed_job(state: JournalState | None, job: Writer) -> bool:
    """Return whether another run took over after `job` was decided. The other run has then committed `job`."""
    fenced = None if state is None else state.fenced_run(job)
    return fenced is not None and job.is_job and fenced.epoch >= EPOCH_OF_A_JOB
