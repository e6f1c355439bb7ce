"""The resources for the steps of the protocol: a client, the journal, and the transaction coordinators."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_pulsar.client.broker.client import BrokerClient
from pyspark_pulsar.client.broker.transaction_coordinator import Coordinators
from pyspark_pulsar.write.exactly_once.journal import Journal


@dataclass(frozen=True)
class Sink:
    """The resources of one process for one journal. Only one thread may use an instance."""

    client: BrokerClient
    journal: Journal
    coordinators: Coordinators
    ready: set[str] = field(default_factory=set)
    """Topic partitions whose transaction buffers `abort` has made `Ready`. A buffer stays `Ready`."""

    @classmethod
    def open(cls, client: BrokerClient, prefix: str) -> Sink:
        return cls(client, Journal(client, prefix), Coordinators(client))
