"""A run of a workload in a new world: its input, its result, and what all workloads have in common."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from simulation import runtime
from simulation.faults import Fault, Trouble
from simulation.pulsar.broker import Cluster
from simulation.world import Choices, Process, Stuck, World

_MOST_SECONDS: Final = 20_000.0


@dataclass(frozen=True)
class Case:
    """The input of a run. Equal cases have equal runs."""

    seed: int
    size: Any
    """The size of the workload, which each workload defines."""
    faults: tuple[Fault, ...] = ()
    choices: tuple[int, ...] | None = None
    """The orders of events; None lets the seed decide them."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    faults: list[str]
    """The broken promises."""
    requests: int
    choices: tuple[int, ...]
    history: list[tuple[float, str, str]]


@dataclass(frozen=True)
class Workload:
    """A kind of runs, with the mutations that break its promises."""

    name: str
    random_case: Callable[[int], Case]
    """Return the case of a seed."""
    run_class: type[Run]
    mutations: dict[str, Callable[[], list[tuple[object, str, Any]]]]
    """A function for each mutation, which returns objects, names of attributes and the new values."""

    def run(self, case: Case, *, keeps_history: bool = False) -> Outcome:
        return self.run_class(case, keeps_history=keeps_history).run()


class Run(ABC):
    """A run of a workload."""

    def __init__(self, case: Case, *, keeps_history: bool = False) -> None:
        self.world = World(Choices(case.seed, case.choices))
        self.world.keeps_history = keeps_history
        self.cluster = Cluster(self.world)
        self.processes: list[Process] = []
        runtime.enter(self.world, self.cluster.socket)
        runtime.random.generator.seed(0)
        random.seed(0)
        self.trouble = Trouble(self.world, self.cluster, case.faults, lambda: self.processes)
        self.cluster.on_request = self.trouble.on_request

    def process(self, name: str) -> Process:
        """Return a new process."""
        process = Process(name)
        self.processes.append(process)
        return process

    @abstractmethod
    def execute(self) -> list[str]:
        """Run the workload to its end, and return the broken promises. Raises `Stuck`."""

    def run_until(self, is_over: Callable[[], bool]) -> None:
        """Let the world run until `is_over` returns True. Raises `Stuck`."""
        self.world.run_until(is_over, _MOST_SECONDS)

    def run_process(self, name: str, call: Callable[[], None]) -> None:
        """Run `call` in a new process, until all threads of the process have ended."""
        process = self.process(name)
        self.world.start(process, name, call)
        self.run_until(lambda: not process.fibers)

    def end_troubles(self) -> None:
        """Let all brokers serve all topics again, without further faults."""
        self.trouble.stop()
        for broker in self.cluster.brokers:
            broker.is_up, broker.frozen_until = True, 0.0
        for topic in self.cluster.topics.values():
            self.cluster.owner(topic.name)
            self.cluster.load(topic)

    def run(self) -> Outcome:
        faults: list[str] = []
        try:
            faults += self.execute()
        except Stuck as fault:
            faults.append(str(fault))
        finally:
            self.world.close(self.processes)
        return Outcome(faults, self.trouble.requests, tuple(self.world.choices.made), self.world.history)
