"""The action of each kind of event in the schedule."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.cluster.server import Server
from soak import schedule
from soak.query import Query
from soak.schedule import Event
from soak.topics import Topics
from soak.writer import Writer

from pyspark_pulsar.errors import StandaloneFailed

_MOST_PARTITIONS: Final = 6
_WORKER_SECONDS: Final = 120.0
_COMMIT_SECONDS: Final = 120.0
_EPOCH_SECONDS: Final = 20.0
_REST_SECONDS: Final = 10.0
_MOST_REST_SECONDS: Final = 60.0
_OFFLOAD_SECONDS: Final = 5.0
_MOST_AWAY_SECONDS: Final = 4.0
_MOST_FROZEN_SECONDS: Final = 12.0


@dataclass(frozen=True)
class Chaos:
    """The servers, query and writer on which events act."""

    cluster: PulsarCluster
    topics: Topics
    workers: Sequence[Server]
    """The workers of Spark."""
    writer: Writer
    query: Query

    def happen(self, event: Event) -> bool:
        """Run an event, and return False if the event had no target. Recovery can continue after the return."""
        actions: dict[str, Callable[[random.Random], bool]] = {
            schedule.KILL_DRIVER: self._kill_driver,
            schedule.KILL_WORKER: lambda chance: self.query.kill_a_worker(chance, _WORKER_SECONDS),
            schedule.KILL_EXECUTOR: lambda chance: self.query.kill_an_executor(chance, _WORKER_SECONDS),
            schedule.KILL_SPARK_WORKER: self._kill_spark_worker,
            schedule.KILL_BROKER: self._kill_broker,
            schedule.FREEZE_BROKER: self._freeze_broker,
            schedule.RESTART_BOOKIE: self._restart_bookie,
            schedule.REST: self._rest,
            schedule.ADD_TOPIC: self._add_topic,
            schedule.ADD_PARTITIONS: self._add_partitions,
            schedule.ROLL: self._roll,
            schedule.OFFLOAD: self._offload,
            schedule.TRIM: self._trim,
        }
        self._supervise()
        if event.kind in schedule.IN_EPOCH and event.kind != schedule.KILL_DRIVER:
            self.query.await_epoch(_EPOCH_SECONDS)
        return actions[event.kind](event.chance())

    def _supervise(self) -> None:
        """Start the broker again if its start failed.

        A start fails if the leader election of the killed broker expires at that moment (seen on Pulsar 4.0.8). An
        operator would also restart the broker.
        """
        if not self.cluster.broker.running:
            self.cluster.broker.launch()

    def mend(self) -> None:
        """Start every stopped server, and wait until all servers are in service."""
        for server in (self.cluster.broker, *self.cluster.bookies):
            if not server.running:
                server.launch()
        for bookie in self.cluster.bookies:
            self.cluster.await_in_service(bookie)
        self.cluster.await_healthy()

    def _kill_driver(self, chance: random.Random) -> bool:
        """Kill the driver, mostly while an epoch is running, and sometimes while the driver is starting."""
        if chance.random() < 0.75:
            self.query.await_commits(1, _COMMIT_SECONDS)
            self.query.await_epoch(_EPOCH_SECONDS)
            time.sleep(chance.uniform(0.0, 0.5))
        # A query that has ended by itself stays as it is, so that the report shows it.
        if self.query.has_ended:
            return False
        self.query.kill()
        self.query.start()
        return True

    def _rest(self, _: random.Random) -> bool:
        """Close all open ledgers, and stop the query until its unread messages are in tiered storage."""
        self.query.await_commits(1, _COMMIT_SECONDS)
        if self.query.has_ended:
            return False
        self.query.kill()
        time.sleep(_REST_SECONDS)
        for partition in self.topics.partitions:
            self.topics.roll(partition)
        self.topics.offload(_MOST_REST_SECONDS)
        self.query.start()
        return True

    def _kill_spark_worker(self, chance: random.Random) -> bool:
        """Kill a Spark worker with its executors, and start the worker again without executors."""
        worker = chance.choice(self.workers)
        worker.kill()
        time.sleep(chance.uniform(0.0, _MOST_AWAY_SECONDS))
        worker.launch()
        return True

    def _kill_broker(self, chance: random.Random) -> bool:
        with contextlib.suppress(StandaloneFailed):
            self.cluster.broker.await_port()
        self.cluster.broker.kill()
        time.sleep(chance.uniform(0.0, _MOST_AWAY_SECONDS))
        self.cluster.broker.launch()
        return True

    def _freeze_broker(self, chance: random.Random) -> bool:
        """Freeze the broker, mostly for a shorter time than its ZooKeeper session.

        After a longer freeze, the broker can end. A later event then starts the broker again.
        """
        with contextlib.suppress(StandaloneFailed):
            self.cluster.broker.await_port()
        self.cluster.broker.freeze(chance.uniform(0.5, _MOST_FROZEN_SECONDS))
        return True

    def _restart_bookie(self, chance: random.Random) -> bool:
        """Restart a bookie, one at a time, because the ledgers have two copies."""
        for each in self.cluster.bookies:
            self.cluster.await_in_service(each)
        bookie = chance.choice(self.cluster.bookies)
        if chance.random() < 0.5:
            bookie.kill()
        else:
            bookie.stop()
        time.sleep(chance.uniform(0.0, _MOST_AWAY_SECONDS))
        bookie.launch()
        return True

    def _add_topic(self, chance: random.Random) -> bool:
        self.writer.add(self.topics.add(chance.choice((0, 1, 2))))
        return True

    def _add_partitions(self, chance: random.Random) -> bool:
        topics = self.topics.growable(_MOST_PARTITIONS)
        if not topics:
            return False
        self.writer.add(self.topics.grow(chance.choice(topics), chance.choice((1, 2))))
        return True

    def _roll(self, chance: random.Random) -> bool:
        self.topics.roll(chance.choice(self.topics.partitions))
        return True

    def _offload(self, _: random.Random) -> bool:
        self.topics.offload(_OFFLOAD_SECONDS)
        return True

    def _trim(self, _: random.Random) -> bool:
        """Remove ledgers that the running query has read.

        The query must be running. A stopped query cannot know whether it has read a removed ledger to the end, and
        would fail (docs/guarantees.md).
        """
        self.query.await_commits(1, _COMMIT_SECONDS)
        if self.query.has_ended:
            return False
        read = self.query.positions()
        self.topics.trim(read)
        self.query.await_next_commit(_COMMIT_SECONDS)
        return bool(read)
