"""What the steps of the protocol are done with: a client, the journal, and the transaction coordinators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.write.exactly_once.journal import Journal
from pyspark_pulsar.write.exactly_once.journal_names import JournalName
from pyspark_pulsar.write.exactly_once.state import JournalState, Writer


@dataclass(frozen=True)
class Sink:
    """Used by one thread."""

    client: BrokerClient
    journal: Journal
    coordinators: Coordinators
    ready: set[str] = field(default_factory=set)
    """Topic partitions whose transaction buffers were made ready (`abort`), which they stay."""

    @classmethod
    def open(cls, client: BrokerClient, prefix: str) -> Sink:
        return cls(client, Journal(client, prefix), Coordinators(client))

    @classmethod
    def open_of(
        cls, client: BrokerClient, name: JournalName, writer: Writer
    ) -> tuple[Sink, JournalState | None]:
        """With the journal of `writer`, and what that says; of a query that an earlier version of this package began,
        with the one that was named after its checkpoint."""
        sink = cls.open(client, name.of(writer.owner))
        state = sink.journal.state()
        if state is None and name.by_checkpoint is not None:
            earlier = Journal.there(client, name.by_checkpoint)
            earlier_state = None if earlier is None else earlier.state()
            if (
                earlier is not None
                and earlier_state is not None
                and earlier_state.writer.owner == writer.owner
            ):
                return replace(sink, journal=earlier), earlier_state
        return sink, state
