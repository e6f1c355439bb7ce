"""A world in which time, threads and processes are simulated, and a list of numbers decides every order of events.

All threads of all simulated processes are greenlets of one thread. A greenlet runs until it waits for time, a lock or a
message. Then the world selects another greenlet that can run. When none can run, the clock jumps to the next timer. So
hours pass in milliseconds.

`Choices` makes every decision of a world. The same numbers lead to the same run.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from greenlet import getcurrent, greenlet

START_SECONDS: Final = 1_700_000_000.0
_MOST_SWITCHES: Final = 200_000


class ProcessDied(BaseException):
    """Raised in every thread of a process that was killed, whenever the thread would act on the world."""


class Stuck(Exception):
    """The world has not ended within its limits, so a process waits or loops forever."""


class Choices:
    """The decisions of a run, from a list or from a seed. Records all decisions.

    The number 0 always selects the ordinary course of events. So a list with more zeros is a simpler run.
    """

    def __init__(self, seed: int, given: Sequence[int] | None = None) -> None:
        self.rng = random.Random(seed)
        self.given = given
        self.made: list[int] = []

    def below(self, count: int) -> int:
        """Return a number from 0 to `count` (exclusive)."""
        if count <= 1:
            return 0
        if self.given is None:
            number = int(self.rng.random() * count)
        else:
            number = self.given[len(self.made)] if len(self.made) < len(self.given) else 0
            number = min(number, count - 1)
        self.made.append(number)
        return number


@dataclass(eq=False)
class Process:
    """A process of the simulated world. When it is killed, its threads and sockets end."""

    name: str
    alive: bool = True
    fibers: set[Fiber] = field(default_factory=set)
    on_death: list[Callable[[], None]] = field(default_factory=list)
    suspended_until: float = 0.0
    memory: dict[str, Any] = field(default_factory=dict)
    """Values of module variables of the package, such as the pool of clients."""


class Fiber(greenlet):
    """A thread of a simulated process."""

    __slots__ = ("name", "process", "result", "ticket")

    def __init__(self, world: World, process: Process, name: str, run: Callable[[], Any]) -> None:
        super().__init__(run, world.hub)
        self.process = process
        self.name = name
        self.ticket = 0
        self.result: Any = None


class World:
    """The clock, the threads and the processes of one run."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.hub = getcurrent()
        self.now = START_SECONDS
        self.switches = 0
        self.history: list[tuple[float, str, str]] = []
        self.keeps_history = False
        self.outside = Process("outside")
        self._ready: list[Fiber] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._ended = False

    # Methods for threads

    @property
    def fiber(self) -> Fiber:
        """Return the running thread."""
        return getcurrent()  # type: ignore[return-value]

    @property
    def process(self) -> Process:
        """Return the process of the running thread."""
        current = getcurrent()
        return current.process if isinstance(current, Fiber) else self.outside

    def park(self, seconds: float | None = None) -> bool:
        """Wait until `wake` or the timeout. Return whether the thread was woken."""
        fiber = getcurrent()
        assert isinstance(fiber, Fiber), "only threads of the world can wait"
        self.require_alive(fiber.process)
        fiber.ticket += 1
        if seconds is not None:
            ticket = fiber.ticket
            self.at(self.now + max(0.0, seconds), lambda: self._resume(fiber, ticket, woken=False))
        woken = bool(self.hub.switch())
        self.require_alive(fiber.process)
        return woken

    def require_alive(self, process: Process) -> None:
        if not process.alive or self._ended:
            raise ProcessDied(process.name)

    def wake(self, fiber: Fiber) -> None:
        """Let a waiting thread continue."""
        self._resume(fiber, fiber.ticket, woken=True)

    def _resume(self, fiber: Fiber, ticket: int, *, woken: bool) -> None:
        if fiber.ticket == ticket and not fiber.dead:
            fiber.ticket += 1
            fiber.result = woken
            self._let_run(fiber)

    def _let_run(self, fiber: Fiber) -> None:
        until = fiber.process.suspended_until
        if until > self.now:
            self.at(until, lambda: None if fiber.dead else self._let_run(fiber))
        else:
            self._ready.append(fiber)

    def suspend(self, process: Process, seconds: float) -> None:
        """Suspend a process, as by SIGSTOP, and continue it later. Its timers expire during that time."""
        process.suspended_until = self.now + seconds
        for fiber in [fiber for fiber in self._ready if fiber.process is process]:
            self._ready.remove(fiber)
            self._let_run(fiber)

    def start(self, process: Process, name: str, run: Callable[[], Any]) -> Fiber:
        """Start a thread in a process."""

        def body(*_: Any) -> None:
            try:
                run()
            except ProcessDied:
                pass
            finally:
                process.fibers.discard(fiber)

        fiber = Fiber(self, process, name, body)
        if process.alive and not self._ended:
            process.fibers.add(fiber)
            self._let_run(fiber)
        return fiber

    def at(self, moment: float, call: Callable[[], None]) -> None:
        """Call a function of the world at a moment. The function must not wait."""
        self._number += 1
        heapq.heappush(self._timers, (moment, self._number, call))

    def kill(self, process: Process) -> None:
        """Kill a process, as by SIGKILL. Its threads end at the place where they wait."""
        if not process.alive:
            return
        self.say(process.name, "is killed")
        process.alive = False
        for call in process.on_death:
            call()
        for fiber in list(process.fibers):
            if fiber is not getcurrent():
                fiber.ticket += 1
                self._end(fiber)

    def _end(self, fiber: Fiber) -> None:
        """Unwind a thread. Nothing that it does on its way out reaches the world, because every act raises."""
        if fiber in self._ready:
            self._ready.remove(fiber)
        if not fiber:
            fiber.process.fibers.discard(fiber)
            return
        fiber.parent = getcurrent()
        fiber.throw(ProcessDied(fiber.process.name))

    def say(self, who: str, what: str) -> None:
        """Record an event for the history of the run."""
        if self.keeps_history:
            self.history.append((self.now - START_SECONDS, who, what))

    # The loop

    def run_until(self, is_over: Callable[[], bool], most_seconds: float) -> None:
        """Run until `is_over`. Raises `Stuck` after `most_seconds` of simulated time, or when nothing can happen."""
        end = self.now + most_seconds
        below = self.choices.below
        while not is_over():
            ready = self._ready
            if ready:
                self.switches += 1
                if self.switches > _MOST_SWITCHES:
                    raise Stuck("the processes run without an end")
                fiber = ready.pop(below(len(ready)) if len(ready) > 1 else 0)
                fiber.switch(fiber.result)
            elif self._timers:
                moment, _, call = heapq.heappop(self._timers)
                if moment > end:
                    raise Stuck(f"the run is not over after {most_seconds:.0f} s")
                self.now = max(self.now, moment)
                call()
            else:
                raise Stuck("every thread waits for another one")

    def close(self, processes: list[Process]) -> None:
        """End all threads of the processes. No run may follow."""
        self._ended = True
        self._timers.clear()
        self._ready.clear()
        for process in processes:
            for fiber in list(process.fibers):
                self._end(fiber)
