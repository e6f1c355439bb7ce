"""What the exactly-once sink has decided, in three topics beside the target.

| topic | who writes | what |
|---|---|---|
| `...-begun` | tasks | each transaction before its first row, so that whoever comes later can abort it |
| `...-decided` | one alone: driver, or task of a new run | which transactions an epoch consists of; the last counts |
| `...-ended` | tasks, in their transactions | one marker each: visible if and only if the transaction was committed |

A decision is a compare and append: whoever wants to decide throws all other writers out of `decided`, appends a
fence, and reads up to it; what lies before the fence is final, and nobody else can append behind it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark_pulsar.client.broker import BrokerClient
from pyspark_pulsar.client.producer import PROBE_ID
from pyspark_pulsar.client.transactions import TransactionId
from pyspark_pulsar.errors import CommitError
from pyspark_pulsar.message_id import EARLIEST, Position
from pyspark_pulsar.topic import TopicName
from pyspark_pulsar.write.records import Records, RecordWriter

_VERSION: Final = 1
_FORMER_RUNS: Final = 100
NO_EPOCH: Final = -1
EPOCH_OF_A_JOB: Final = 0

# Behind that of the producer that settles topics; tasks number theirs from 1.
_FIRST_PRODUCER_ID: Final = PROBE_ID + 1


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: a streaming query or a batch job, and which start of it."""

    owner: str
    """Spark's id of the query, the same after restarts; of a job, one of its own."""
    run: str
    """New with each start."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction that holds all rows of a task's partition, and its marker."""

    transaction: TransactionId
    partition: int
    rows: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A transaction that a task attempt began."""

    transaction: TransactionId
    writer: Writer
    epoch: int


@dataclass(frozen=True)
class State:
    """What is decided. `epoch` is the last one that was, of `writer.owner`; `done` says that all its transactions are
    known to be committed."""

    writer: Writer
    epoch: int = NO_EPOCH
    transactions: tuple[Prepared, ...] = ()
    done: bool = True
    former: tuple[str, ...] = ()
    """Runs that were taken over from: they must not write any more. The last hundred."""
    begun: Position = EARLIEST
    """Transactions begun before it have ended."""
    ended: Position = EARLIEST
    """Markers before it are of epochs that are done."""

    @property
    def decided(self) -> tuple[TransactionId, ...]:
        return tuple(each.transaction for each in self.transactions)

    def taken_over_by(self, writer: Writer) -> State:
        """Epochs are numbered anew for another owner."""
        former = (*self.former, self.writer.run)[-_FORMER_RUNS:]
        epoch = self.epoch if writer.owner == self.writer.owner else NO_EPOCH
        return replace(self, writer=writer, epoch=epoch, transactions=(), done=True, former=former)


class Journal:
    """The three topics, by one client; used by one thread."""

    def __init__(self, client: BrokerClient, prefix: str) -> None:
        """Creates what is missing, as the broker's policy says."""
        self.prefix = prefix
        topics = [TopicName.parse(f"{prefix}-{name}") for name in ("begun", "decided", "ended")]
        self._begun, self._decided, self._ended = Records.open(client, topics, _FIRST_PRODUCER_ID)

    def prepare(self) -> None:
        """Make the topics keep what is written to them. Driver, before any task."""
        for records in (self._begun, self._ended):
            records.writer().close()

    def state(self) -> State | None:
        """What the last driver decided; None before the first. Another one may decide anew at any time."""
        _, state = self._find()
        return state

    @property
    def marker_partition(self) -> str:
        """To be added to each transaction."""
        return self._ended.name

    def write_begun(self, begun: Begun) -> None:
        writer = self._begun.writer()
        try:
            writer.append(_begun_record(begun))
        finally:
            writer.close()

    def write_marker(self, transaction: TransactionId) -> None:
        """In the transaction, to whose partitions `marker_partition` was added."""
        writer = self._ended.writer(transaction=transaction)
        try:
            writer.append({"transaction": list(transaction)})
        finally:
            writer.close()

    def begun_since(self, start: Position) -> tuple[list[Begun], Position]:
        """The transactions begun from `start` on, and the position behind them."""
        records = self._begun.since(start)
        found = [_begun(record.content, self._begun.name) for record in records]
        if not records:
            return found, start
        last = records[-1].position
        return found, Position(last.ledger, last.entry + 1)

    def markers_since(self, start: Position) -> set[TransactionId]:
        """The transactions whose markers are visible, and fences beside them."""
        contents = (record.content for record in self._ended.since(start))
        return {_transaction(each["transaction"]) for each in contents if "transaction" in each}

    def ended_end(self) -> Position:
        """Behind the last visible marker."""
        return self._ended.end()

    def forget_before(self, state: State) -> None:
        """Let go of what nobody needs who begins at the last state, which is `state`. One attempt."""
        start, _ = self._find()
        self._decided.forget_before(start)
        self._begun.forget_before(state.begun)
        self._ended.forget_before(state.ended)

    def fence_markers(self, start: Position) -> bool:
        """Whether all that was written to the markers' topic until now is settled: what follows an open
        transaction stays invisible. Leaves a record behind."""
        nonce = uuid.uuid4().hex
        writer = self._ended.writer()
        try:
            writer.append({"fence": nonce})
        finally:
            writer.close()
        return any(record.content.get("fence") == nonce for record in self._ended.since(start))

    @contextmanager
    def alone(self) -> Iterator[Decider]:
        """Be the only one who decides; whoever was is fenced."""
        writer = self._decided.writer(exclusive=True)
        try:
            before, _ = self._find()
            writer.append({"version": _VERSION, "fence": uuid.uuid4().hex, "state_at": str(before)})
            yield Decider(writer, self._last_state(before))
        finally:
            writer.close()

    def _find(self) -> tuple[Position, State | None]:
        """Where to begin to find the last state, and that state."""
        last = self._decided.last()
        if last is None:
            return EARLIEST, None
        if "fence" not in last.content:
            return last.position, _state(last.content, self._decided.name)
        start = Position.parse(last.content["state_at"])
        return start, self._last_state(start)

    def _last_state(self, start: Position) -> State | None:
        states = [each.content for each in self._decided.since(start) if "fence" not in each.content]
        return _state(states[-1], self._decided.name) if states else None


class Decider:
    """Alone on `decided`, until another one comes."""

    def __init__(self, writer: RecordWriter, state: State | None) -> None:
        self._writer = writer
        self.state = state

    def decide(self, state: State) -> None:
        """Returns when it is stored. Raises `WriterFenced` when another one has come; then it is not stored."""
        self._writer.append(_state_record(state))
        self.state = state


# Records and what they mean


def _state_record(state: State) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "owner": state.writer.owner,
        "run": state.writer.run,
        "epoch": state.epoch,
        "transactions": [[*each.transaction, each.partition, each.rows] for each in state.transactions],
        "done": state.done,
        "former": list(state.former),
        "begun": str(state.begun),
        "ended": str(state.ended),
    }


def _state(content: dict[str, Any], where: str) -> State:
    try:
        if content["version"] != _VERSION:
            raise CommitError(
                f"{where}: expected records of version {_VERSION}, got {content['version']}; use the version of "
                f"pyspark-pulsar that wrote them"
            )
        return State(
            writer=Writer(content["owner"], content["run"]),
            epoch=content["epoch"],
            transactions=tuple(
                Prepared((most, least), partition, rows)
                for most, least, partition, rows in content["transactions"]
            ),
            done=content["done"],
            former=tuple(content["former"]),
            begun=Position.parse(content["begun"]),
            ended=Position.parse(content["ended"]),
        )
    except (KeyError, TypeError, ValueError) as fault:
        raise _foreign(where, fault) from fault


def _begun_record(begun: Begun) -> dict[str, Any]:
    return {
        "transaction": list(begun.transaction),
        "owner": begun.writer.owner,
        "run": begun.writer.run,
        "epoch": begun.epoch,
    }


def _begun(content: dict[str, Any], where: str) -> Begun:
    try:
        writer = Writer(content["owner"], content["run"])
        return Begun(_transaction(content["transaction"]), writer, content["epoch"])
    except (KeyError, TypeError, ValueError) as fault:
        raise _foreign(where, fault) from fault


def _transaction(pair: Iterable[int]) -> TransactionId:
    most, least = pair
    return most, least


def _foreign(where: str, fault: Exception) -> CommitError:
    return CommitError(
        f"{where}: expected a record of pyspark-pulsar's exactly-once sink, got one that lacks {fault}; give "
        f"transactionJournal a name that nothing else writes to"
    )
