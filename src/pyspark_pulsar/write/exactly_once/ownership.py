"""Whose a journal is, and telling everybody else before anything of its owner's is touched."""

from __future__ import annotations

from pyspark_pulsar.errors import JournalTaken, WriterFenced
from pyspark_pulsar.write.exactly_once.state import EPOCH_OF_A_JOB, JournalState, Writer


class RunFenced(WriterFenced):
    """For good, other than having been thrown out while something was decided."""


def refuse_others(state: JournalState | None, writer: Writer, journal: str) -> None:
    """Raises `RunFenced` for a run that another one has taken over from and a job that was given up, `JournalTaken` for
    a writer whose journal it is not."""
    if state is None:
        return
    if state.fenced_run(writer) is not None:
        if state.writer != writer:
            now = f"{state.writer} has taken over" + (", or the job has failed" if writer.is_job else "")
        else:
            now = ("the job has failed, or " if writer.is_job else "") + "the journal was released by hand"
        raise RunFenced(
            f"{writer}, run {writer.run}: expected to be the run that writes, but {now}, as the journal {journal} says "
            f"(run {state.writer.run}). What was decided before is committed, and nothing else of run {writer.run} "
            f"counts as written. Let only one query run on a checkpoint, and give each of several jobs that run at the "
            f"same time a transactionJournal"
        )
    if not state.belongs_to(writer):
        raise JournalTaken(
            f"{journal}: expected the journal of {writer}, got that of {state.writer}, which is left as it is; nothing "
            f"was written. A query and its topic, or the jobs to a topic, have a journal of their own: give this one "
            f"another name by option transactionJournal, or leave the option out. If the other one will never be "
            f"started again: pyspark-pulsar transactions resolve --journal {journal} --release --service-url URL"
        )


def is_committed_job(state: JournalState | None, job: Writer) -> bool:
    """Return whether another job took over from `job` after the epoch of `job` was decided, and so committed."""
    fenced = None if state is None else state.fenced_run(job)
    return fenced is not None and job.is_job and fenced.epoch >= EPOCH_OF_A_JOB
