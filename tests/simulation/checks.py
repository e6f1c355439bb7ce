"""The checks that the tests of all workloads share."""

from __future__ import annotations

import itertools
import random
import time
from typing import Final

from simulation.case import Workload
from simulation.search import mutated, single_faults

SECONDS: Final = 60.0


def assert_single_faults_keep_the_promises(workload: Workload, size: object, step: int, least: int) -> None:
    """Run every `step`-th case with one fault, from a random one on. All cases need minutes."""
    first = random.randrange(step)
    cases = list(itertools.islice(single_faults(workload, size), first, None, step))
    assert len(cases) > least
    broken = [(case.faults, outcome.faults) for case in cases if (outcome := workload.run(case)).faults]
    assert broken == [], f"cases from {first} on"


def assert_mutation_breaks_a_promise(workload: Workload, name: str, seed: int) -> None:
    """Run the seed that found the mutation. If the seed finds it no longer, search for another seed."""
    end = time.monotonic() + SECONDS
    with mutated(workload, name):
        for each in itertools.chain([seed], itertools.count(1)):
            if workload.run(workload.random_case(each)).faults:
                return
            assert time.monotonic() < end, f"no promise was broken by {each} runs"
