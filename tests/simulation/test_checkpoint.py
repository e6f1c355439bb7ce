"""A query with its checkpoint in Pulsar in the simulated world: single faults, and mutations that must be found."""

import itertools
import random
import time

import pytest

from simulation.case import Case
from simulation.checkpoint.query import Size, random_case
from simulation.search import mutated, single_faults
from simulation.workloads import CHECKPOINT

SMALLEST = Size(epochs=1, entries_of_ledger=4, readers=1)
SECONDS = 60.0
FOUND_BY = {
    "put-if-absent replaces a file": 3,
    "previous owners are obeyed": 199,
    "the index is not read to its end": 688,
    "a receipt counts as the outcome": 3,
    "the floor passes needed chunks": 151,
    "the keeper passes the anchor": 64,
    "a hidden index counts as emptied": 5,
}
"""A seed that finds the mutation. After a change of the code, the test searches for another seed."""


def test_equal_cases_have_equal_histories() -> None:
    case = random_case(7)
    first, second = (CHECKPOINT.run(case, keeps_history=True) for _ in range(2))
    assert first == second
    again = CHECKPOINT.run(Case(0, case.size, case.faults, first.choices), keeps_history=True)
    assert again.history == first.history


def test_single_faults_keep_the_promises() -> None:
    """Run every 32nd case, from a random one on: all of them need minutes."""
    first = random.randrange(32)
    cases = list(itertools.islice(single_faults(CHECKPOINT, SMALLEST), first, None, 32))
    assert len(cases) > 30
    broken = [(case.faults, outcome.faults) for case in cases if (outcome := CHECKPOINT.run(case)).faults]
    assert broken == [], f"cases from {first} on"


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_mutation_breaks_a_promise(name: str) -> None:
    end = time.monotonic() + SECONDS
    with mutated(CHECKPOINT, name):
        for seed in itertools.chain([FOUND_BY[name]], itertools.count(1)):
            if CHECKPOINT.run(random_case(seed)).faults:
                return
            assert time.monotonic() < end, f"no promise was broken by {seed} runs"
