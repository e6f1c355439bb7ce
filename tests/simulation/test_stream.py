"""A query that reads a topic in the simulated world: single faults, and mutations that must be found."""

import itertools
import random
import time

import pytest

from simulation.search import mutated, single_faults
from simulation.stream.query import Size, random_case
from simulation.workloads import STREAM

SMALLEST = Size(partitions=1, writers=1, messages=6, entries_of_ledger=3)
SECONDS = 60.0
FOUND_BY = {
    "messages are acknowledged before they are read": 1,
    "a subscription proves nothing": 9,
}
"""A seed that finds the mutation. After a change of the code, the test searches for another seed."""


def test_single_faults_keep_the_promises() -> None:
    """Run every 16th case, from a random one on: all of them need a minute."""
    first = random.randrange(16)
    cases = list(itertools.islice(single_faults(STREAM, SMALLEST), first, None, 16))
    assert len(cases) > 30
    broken = [(case.faults, outcome.faults) for case in cases if (outcome := STREAM.run(case)).faults]
    assert broken == [], f"cases from {first} on"


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_mutation_breaks_a_promise(name: str) -> None:
    end = time.monotonic() + SECONDS
    with mutated(STREAM, name):
        for seed in itertools.chain([FOUND_BY[name]], itertools.count(1)):
            if STREAM.run(random_case(seed)).faults:
                return
            assert time.monotonic() < end, f"no promise was broken by {seed} runs"


@pytest.mark.parametrize("seed", [9, 68, 76, 189, 220])
def test_seeds_that_found_false_losses(seed: int) -> None:
    assert STREAM.run(random_case(seed)).faults == []
