"""Searching for runs that break a promise, and making such a run simple.

`shrunk` removes faults and makes decisions ordinary (0) as long as the run still breaks a promise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from simulation.case import Case, Outcome, Workload
from simulation.faults import Fault, Kind

_CHANCES: Final = {
    Kind.KILL_OTHER: (0, 4),
    Kind.FREEZE: (1, 2),
    Kind.SUSPEND: (1, 3),
    Kind.SUSPEND_OTHER: (1, 3, 7),
    Kind.STALL: (1, 2),
}
"""The values of `Fault.chance` that `single_faults` tries, by default only 0."""
_MOST_TRIES: Final = 300


def random_cases(workload: Workload, first_seed: int, step: int = 1) -> Iterator[Case]:
    """Yield a case for each seed, without an end."""
    return map(workload.random_case, itertools.count(first_seed, step))


def single_faults(workload: Workload, size: object) -> Iterator[Case]:
    """Yield all cases with one fault, in the ordinary order of events."""
    requests = workload.run(Case(0, size, (), ())).requests
    for request in range(requests):
        for kind in Kind:
            for chance in _CHANCES.get(kind, (0,)):
                yield Case(0, size, (Fault(request, kind, chance),), ())


def first_broken(
    workload: Workload, cases: Iterator[Case], goes_on: Callable[[], bool]
) -> tuple[Case, Outcome] | None:
    """Run cases until one breaks a promise, and return the case and its outcome. Stop when `goes_on` returns False."""
    while goes_on():
        case = next(cases)
        outcome = workload.run(case)
        if outcome.faults:
            return case, outcome
    return None


def shrunk(workload: Workload, case: Case, outcome: Outcome) -> Case:
    """Return a simpler case that breaks a promise too."""
    best = replace(case, choices=outcome.choices)
    tries = 0

    def breaks(simpler: Case) -> bool:
        nonlocal tries
        tries += 1
        return tries < _MOST_TRIES and bool(workload.run(simpler).faults)

    for index in reversed(range(len(best.faults))):
        fewer = replace(best, faults=best.faults[:index] + best.faults[index + 1 :])
        if breaks(fewer):
            best = fewer
    choices = list(best.choices or ())
    width = len(choices)
    while width >= 8:
        for start in range(0, len(choices), width):
            part = choices[start : start + width]
            if any(part):
                simpler = [*choices[:start], *([0] * len(part)), *choices[start + width :]]
                if breaks(replace(best, choices=tuple(simpler))):
                    choices = simpler
        width //= 2
    while choices and choices[-1] == 0:
        choices.pop()
    return replace(best, choices=tuple(choices))


@contextmanager
def mutated(workload: Workload, name: str) -> Iterator[None]:
    """Run the block with one mutation."""
    patches = workload.mutations[name]()
    originals = [(where, attribute, getattr(where, attribute)) for where, attribute, _ in patches]
    for where, attribute, new in patches:
        setattr(where, attribute, new)
    try:
        yield
    finally:
        for where, attribute, old in originals:
            setattr(where, attribute, old)
