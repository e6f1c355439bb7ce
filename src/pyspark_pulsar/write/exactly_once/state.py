"""The content of an exactly-once sink's journal: the state, its changes as pure functions, and its records.

Records are JSON objects of version 1. With option `repeatedEpochCheck=none`, they lack `rows` and `digest`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyspark_pulsar.codec.digests import RowDigest
from pyspark_pulsar.errors import CommitError
from pyspark_pulsar.model.position import EARLIEST, Position
from pyspark_pulsar.model.topic import TopicName
from pyspark_pulsar.model.transaction_id import TransactionId

VERSION: Final = 1
NO_EPOCH: Final = -1
EPOCH_OF_A_JOB: Final = 0
_FENCED_RUNS: Final = 100


@dataclass(frozen=True, slots=True)
class Writer:
    """A streaming query or a batch job, and one start of it."""

    owner: str
    """Spark's id of the query, which is the same after restarts; or a job's own id."""
    run: str
    """A new id for each start; for a job, the same as its owner."""
    target: str | None = field(default=None, compare=False)
    """The topic, or the column that names topics. None equals every target, as in records of begun transactions."""

    @property
    def is_job(self) -> bool:
        return self.owner == self.run

    def __str__(self) -> str:
        kind = "batch job" if self.is_job else "streaming query"
        return f"{kind} {self.owner}" + ("" if self.target is None else f" to {self.target}")


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A transaction with all rows of a task's partition, and its marker."""

    transaction: TransactionId
    partition: int
    rows: int


@dataclass(frozen=True, slots=True)
class BegunTransaction:
    """A transaction that a task attempt has begun. Another record follows when the task adds more partitions."""

    transaction: TransactionId
    writer: Writer
    epoch: int
    partitions: tuple[str, ...] = ()
    """Full names of the topic partitions that it may send rows to."""


@dataclass(frozen=True, slots=True)
class FencedRun:
    """A run that may not write any more: another run took over from it, or its job was given up."""

    run: str
    epoch: int
    """The last epoch that was decided by then, and is committed; `NO_EPOCH` if none was."""


@dataclass(frozen=True)
class JournalState:
    """The decided state. `epoch` is the last decided epoch of `writer.owner`.

    `done` means that all its transactions are known to be committed.
    """

    writer: Writer
    epoch: int = NO_EPOCH
    transactions: tuple[PreparedTransaction, ...] = ()
    done: bool = True
    fenced_runs: tuple[FencedRun, ...] = ()
    """The last hundred. Runs that have decided nothing are forgotten first."""
    begun: Position = EARLIEST
    """The position in `-begun` before which all transactions have ended."""
    ended: Position = EARLIEST
    """The position in `-ended` before which all markers belong to finished epochs."""
    row_digest: RowDigest | None = None
    """The rows of `epoch`; None if option `repeatedEpochCheck` is `none`."""
    released: bool = False
    """True if another owner may take over."""

    @property
    def decided(self) -> tuple[TransactionId, ...]:
        return tuple(prepared.transaction for prepared in self.transactions)

    def fenced_run(self, writer: Writer) -> FencedRun | None:
        return next((fenced for fenced in self.fenced_runs if fenced.run == writer.run), None)

    def belongs_to(self, writer: Writer) -> bool:
        """Return whether `writer` may take over: the query's next start with the same target, or the next job."""
        owner = self.writer
        if owner.owner == writer.owner:
            return None in (owner.target, writer.target) or owner.target == writer.target
        return self.released or (owner.is_job and writer.is_job)

    def taken_over_by(self, writer: Writer) -> JournalState:
        """Return the state after `writer` has taken over. Another owner's epochs begin at the first number again."""
        fenced = self._with_fenced(FencedRun(self.writer.run, self.epoch))
        state = replace(self, writer=writer, transactions=(), done=True, fenced_runs=fenced, released=False)
        return state if writer.owner == self.writer.owner else replace(state, epoch=NO_EPOCH, row_digest=None)

    def release(self) -> JournalState:
        """Return the state in which the owner's next run or another owner may take over."""
        fenced = self._with_fenced(FencedRun(self.writer.run, self.epoch))
        return replace(self, fenced_runs=fenced, released=True)

    def give_up(self, job: Writer) -> JournalState:
        """Return the state after the job has failed undecided: its tasks may neither write nor take over."""
        return replace(self, fenced_runs=self._with_fenced(FencedRun(job.run, NO_EPOCH)))

    def _with_fenced(self, run: FencedRun) -> tuple[FencedRun, ...]:
        fenced = [*(fenced for fenced in self.fenced_runs if fenced.run != run.run), run]
        while len(fenced) > _FENCED_RUNS:
            # The run of a committed epoch is needed longer than a run that only may not write any more.
            fenced.remove(next((run for run in fenced if run.epoch == NO_EPOCH), fenced[0]))
        return tuple(fenced)


# Records and their meaning


def state_record(state: JournalState) -> dict[str, Any]:
    record: dict[str, Any] = {
        "version": VERSION,
        "owner": state.writer.owner,
        "run": state.writer.run,
        "target": state.writer.target,
        "epoch": state.epoch,
        "transactions": [
            [*prepared.transaction, prepared.partition, prepared.rows] for prepared in state.transactions
        ],
        "done": state.done,
        "former": [[fenced.run, fenced.epoch] for fenced in state.fenced_runs],
        "begun": str(state.begun),
        "ended": str(state.ended),
        "released": state.released,
    }
    if state.row_digest is not None:
        record.update(rows=state.row_digest.rows, digest=state.row_digest.digest)
    return record


def state_of(content: dict[str, Any], where: str) -> JournalState:
    """Parse a record of the state. Raise `CommitError` if it is not one, or if its version is unknown."""
    try:
        if content["version"] != VERSION:
            raise CommitError(
                f"{where}: expected records of version {VERSION}, got {content['version']}; use the version of "
                f"pyspark-pulsar that wrote them"
            )
        return JournalState(
            writer=Writer(content["owner"], content["run"], content["target"]),
            epoch=content["epoch"],
            transactions=tuple(
                PreparedTransaction((most, least), partition, rows)
                for most, least, partition, rows in content["transactions"]
            ),
            done=content["done"],
            fenced_runs=tuple(FencedRun(run, epoch) for run, epoch in content["former"]),
            begun=Position.parse(content["begun"]),
            ended=Position.parse(content["ended"]),
            row_digest=RowDigest(content["rows"], content["digest"]) if "rows" in content else None,
            released=content["released"],
        )
    except (KeyError, TypeError, ValueError) as fault:
        raise _foreign_record(where, fault) from fault


def begun_record(begun: BegunTransaction) -> dict[str, Any]:
    return {
        "transaction": list(begun.transaction),
        "owner": begun.writer.owner,
        "run": begun.writer.run,
        "epoch": begun.epoch,
        "partitions": _partition_counts(begun.partitions),
    }


def begun_of(content: dict[str, Any], where: str) -> BegunTransaction:
    """Parse a record of a begun transaction. Raise `CommitError` if it is not one."""
    try:
        writer = Writer(content["owner"], content["run"])
        partitions = _partition_names(content["partitions"])
        return BegunTransaction(transaction_of(content["transaction"]), writer, content["epoch"], partitions)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise _foreign_record(where, fault) from fault


def _partition_counts(partitions: Iterable[str]) -> dict[str, int]:
    """Return each topic with its number of partitions, because a thousand names would fill the journal.

    If names are not all partitions of a topic from the first one on, each name is a key, with 0.
    """
    topics: dict[TopicName, set[str]] = {}
    for name in partitions:
        topics.setdefault(TopicName.parse(name).without_partition(), set()).add(name)
    counts = {}
    for topic, names in topics.items():
        if names == set(_partitions(topic, len(names))):
            counts[str(topic)] = len(names)
        else:
            counts.update(dict.fromkeys(sorted(names), 0))
    return counts


def _partition_names(counts: dict[str, int]) -> tuple[str, ...]:
    """Return the names for the result of `_partition_counts`."""
    return tuple(
        name
        for text, count in counts.items()
        for name in ([text] if count == 0 else _partitions(TopicName.parse(text), count))
    )


def _partitions(topic: TopicName, count: int) -> list[str]:
    return [str(topic.with_partition(index)) for index in range(count)]


def transaction_of(pair: Iterable[int]) -> TransactionId:
    most, least = pair
    return most, least


def _foreign_record(where: str, fault: Exception) -> CommitError:
    return CommitError(
        f"{where}: expected a record of pyspark-pulsar's exactly-once sink, got a record that lacks {fault}; set "
        f"transactionJournal to a name that nothing else writes to"
    )
