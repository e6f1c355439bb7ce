"""The content of a journal: its state, pure functions that return a changed state, and the encoding as records.

Records are JSON objects of version 1. With option `repeatedEpochCheck=none`, the record of a state has no keys `rows`
and `digest`.
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
    """A run of a streaming query or of a batch job."""

    owner: str
    """Spark's id of the query, which restarts do not change; or the id of the job."""
    run: str
    """The id of the run, which is new after each start; equal to `owner` if the writer is a job."""
    target: str | None = field(default=None, compare=False)
    """The topic, or the column that names topics. Records of begun transactions have None, which matches every
    target.
    """

    @property
    def is_job(self) -> bool:
        return self.owner == self.run

    def __str__(self) -> str:
        kind = "batch job" if self.is_job else "streaming query"
        return f"{kind} {self.owner}" + ("" if self.target is None else f" to {self.target}")


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A transaction that contains all rows of one task and a marker."""

    transaction: TransactionId
    partition: int
    rows: int


@dataclass(frozen=True, slots=True)
class BegunTransaction:
    """A transaction that a task attempt has begun. The task appends another record when it adds more partitions."""

    transaction: TransactionId
    writer: Writer
    epoch: int
    partitions: tuple[str, ...] = ()
    """Full names of the topic partitions to which the task may send rows."""


@dataclass(frozen=True, slots=True)
class FencedRun:
    """A run that is not allowed to write any more. The cause is a takeover, a release, or a job that was given up."""

    run: str
    epoch: int
    """The last epoch that the run decided, which is committed; `NO_EPOCH` if the run decided no epoch."""


@dataclass(frozen=True)
class JournalState:
    """The state of a journal.

    `epoch` is the last decided epoch of `writer.owner`. `done` is True if all transactions of this epoch are known to
    be committed.
    """

    writer: Writer
    epoch: int = NO_EPOCH
    transactions: tuple[PreparedTransaction, ...] = ()
    done: bool = True
    fenced_runs: tuple[FencedRun, ...] = ()
    """The last `_FENCED_RUNS` fenced runs. Runs without a decided epoch are removed first."""
    begun: Position = EARLIEST
    """The position in `-begun` before which all transactions have ended."""
    ended: Position = EARLIEST
    """The position in `-ended` before which all markers belong to finished epochs."""
    row_digest: RowDigest | None = None
    """The digest of the rows of `epoch`; None if the option `repeatedEpochCheck` is `none`."""
    released: bool = False
    """True if another owner may take over."""

    @property
    def decided(self) -> tuple[TransactionId, ...]:
        return tuple(prepared.transaction for prepared in self.transactions)

    def fenced_run(self, writer: Writer) -> FencedRun | None:
        return next((fenced for fenced in self.fenced_runs if fenced.run == writer.run), None)

    def belongs_to(self, writer: Writer) -> bool:
        """Return whether `writer` may take over.

        A query's next run may take over if it has the target of the previous run. Any job may take over from a job. Any
        writer may take over a released journal.
        """
        owner = self.writer
        if owner.owner == writer.owner:
            return None in (owner.target, writer.target) or owner.target == writer.target
        return self.released or (owner.is_job and writer.is_job)

    def taken_over_by(self, writer: Writer) -> JournalState:
        """Return the state after `writer` has taken over. If the owner changes, the new state has no decided epoch."""
        fenced = self._with_fenced(FencedRun(self.writer.run, self.epoch))
        state = replace(self, writer=writer, transactions=(), done=True, fenced_runs=fenced, released=False)
        return state if writer.owner == self.writer.owner else replace(state, epoch=NO_EPOCH, row_digest=None)

    def release(self) -> JournalState:
        """Return the state of the released journal. The next run of the owner, or another owner, can take over."""
        fenced = self._with_fenced(FencedRun(self.writer.run, self.epoch))
        return replace(self, fenced_runs=fenced, released=True)

    def give_up(self, job: Writer) -> JournalState:
        """Return the state after the job has failed without a decision.

        The tasks of the job may then neither write nor take over the journal.
        """
        return replace(self, fenced_runs=self._with_fenced(FencedRun(job.run, NO_EPOCH)))

    def _with_fenced(self, run: FencedRun) -> tuple[FencedRun, ...]:
        fenced = [*(fenced for fenced in self.fenced_runs if fenced.run != run.run), run]
        while len(fenced) > _FENCED_RUNS:
            # A run without a decided epoch is removed first. The record of a committed epoch shows that its rows are
            # visible.
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
    """Parse a record of the state. Raises `CommitError` if the record has another form or version."""
    try:
        if content["version"] != VERSION:
            raise CommitError(
                f"{where}: expected records of version {VERSION}, got version {content['version']}; use the version of "
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
    """Parse a record of a begun transaction. Raises `CommitError` if the record has another form."""
    try:
        writer = Writer(content["owner"], content["run"])
        partitions = _partition_names(content["partitions"])
        return BegunTransaction(transaction_of(content["transaction"]), writer, content["epoch"], partitions)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise _foreign_record(where, fault) from fault


def _partition_counts(partitions: Iterable[str]) -> dict[str, int]:
    """Return a map from each topic to its number of partitions. Names of many partitions would fill the journal.

    If the partitions of a topic do not begin at 0 or have a gap, each name is a key with the value 0.
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
    """Return the names of partitions from the result of `_partition_counts`."""
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
        f"{where}: expected a record of pyspark-pulsar's exactly-once sink, got another record ({fault!r}); set "
        f"transactionJournal to a name that nothing else writes to"
    )
