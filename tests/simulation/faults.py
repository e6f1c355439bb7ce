"""Faults of a run: what happens to which request, decided before the run.

A fault strikes when a broker receives a certain request, counted over the whole world. So all pairs of a request and a
kind cover every step of every process.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from simulation.network import Link
from simulation.pulsar.broker import Broker, Cluster
from simulation.world import Process, World


class Kind(IntEnum):
    """The kinds of faults."""

    LOST_REQUEST = 0
    LOST_ANSWER = 1
    KILL = 2
    KILL_OTHER = 3
    FREEZE = 4
    CRASH = 5
    UNLOAD = 6
    SUSPEND = 7
    SUSPEND_OTHER = 8
    STALL = 9


KINDS: Final = {
    Kind.LOST_REQUEST: "the request is lost with its connection",
    Kind.LOST_ANSWER: "the answer is lost with its connection",
    Kind.KILL: "the process that sent the request is killed",
    Kind.KILL_OTHER: "another process is killed",
    Kind.FREEZE: "the broker is suspended",
    Kind.CRASH: "the broker is killed",
    Kind.UNLOAD: "a topic is unloaded",
    Kind.SUSPEND: "the process that sent the request is suspended",
    Kind.SUSPEND_OTHER: "another process is suspended",
    Kind.STALL: "the connection stalls before the request arrives",
}
_FREEZE_SECONDS: Final = (1.0, 12.0, 70.0)
_CRASH_SECONDS: Final = (0.5, 5.0, 30.0)
_SUSPEND_SECONDS: Final = (0.5, 12.0, 30.0, 90.0)
_BURST: Final = 12


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of kind `kind` at a request; `chance` selects its target and duration."""

    request: int
    kind: Kind
    chance: int = 0


def draw_faults(rng: random.Random, count: int, requests: int) -> list[Fault]:
    """Draw faults among the first `requests` requests.

    Half of the faults follow soon after another one. Most cases have few kinds of faults, so that more of the cases
    have several faults of the same kinds, as in swarm testing.
    """
    kinds = rng.sample(list(Kind), rng.choice((1, 2, 3, 3, len(Kind))))
    faults: list[Fault] = []
    for _ in range(count):
        if faults and rng.random() < 0.5:
            request = faults[-1].request + 1 + rng.randrange(_BURST)
        else:
            request = rng.randrange(requests)
        faults.append(Fault(request, rng.choice(kinds), rng.randrange(60)))
    return faults


class Trouble:
    """Strikes with the faults of a run."""

    def __init__(
        self, world: World, cluster: Cluster, faults: Iterable[Fault], processes: Callable[[], list[Process]]
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._processes = processes
        self._faults: dict[int, list[Fault]] = {}
        for fault in faults:
            self._faults.setdefault(fault.request, []).append(fault)
        self.requests = 0
        """Number of requests so far."""
        self.on_suspended: Callable[[Process, float], None] = lambda _, __: None

    def stop(self) -> None:
        """Let no further fault strike."""
        self._faults.clear()

    def on_request(self, broker: Broker, link: Link, handle: Callable[[], None]) -> float | None:
        """Let a broker handle a request, with the faults of this request.

        Returns:
            None, or the seconds after which the request shall arrive again, because its connection stalls.

        """
        number, self.requests = self.requests, self.requests + 1
        faults = self._faults.get(number)
        if faults is None:
            handle()
            return None
        stalls = [fault for fault in faults if fault.kind == Kind.STALL]
        if not stalls and Kind.LOST_REQUEST not in {fault.kind for fault in faults}:
            handle()
        for fault in faults:
            self._strike(fault, broker, link)
        return _selected(_SUSPEND_SECONDS, stalls[0]) if stalls else None

    def _strike(self, fault: Fault, broker: Broker, link: Link) -> None:
        self._world.say(link.process.name, f"request {fault.request}: {KINDS[fault.kind]}")
        match fault.kind:
            case Kind.LOST_REQUEST | Kind.LOST_ANSWER:
                link.reset()
            case Kind.KILL:
                self._world.kill(link.process)
            case Kind.FREEZE:
                broker.frozen_until = self._world.now + _selected(_FREEZE_SECONDS, fault)
            case Kind.CRASH:
                self._cluster.crash(broker, _selected(_CRASH_SECONDS, fault))
            case Kind.UNLOAD:
                self._unload(fault)
            case Kind.STALL:
                pass
            case Kind.SUSPEND:
                self._suspend(link.process, fault)
            case _:
                self._strike_process(fault)

    def _unload(self, fault: Fault) -> None:
        loaded = sorted(name for name, topic in self._cluster.topics.items() if topic.is_loaded)
        if loaded:
            self._cluster.unload(self._cluster.topics[loaded[fault.chance % len(loaded)]])

    def _strike_process(self, fault: Fault) -> None:
        """Kill or suspend any process."""
        running = [process for process in self._processes() if process.alive and process.fibers]
        if not running:
            return
        target = running[fault.chance // len(_SUSPEND_SECONDS) % len(running)]
        if fault.kind == Kind.KILL_OTHER:
            self._world.kill(target)
        else:
            self._suspend(target, fault)

    def _suspend(self, process: Process, fault: Fault) -> None:
        seconds = _selected(_SUSPEND_SECONDS, fault)
        self._world.suspend(process, seconds)
        self.on_suspended(process, seconds)


def _selected(seconds: tuple[float, ...], fault: Fault) -> float:
    return seconds[fault.chance % len(seconds)]
