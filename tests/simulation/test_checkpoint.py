"""A query with its checkpoint in Pulsar in the simulated world: single faults, and mutations that must be found."""

import pytest

from simulation.case import Case
from simulation.checkpoint.query import Size, random_case
from simulation.checks import assert_mutation_breaks_a_promise, assert_single_faults_keep_the_promises
from simulation.workloads import CHECKPOINT

SMALLEST = Size(epochs=1, entries_of_ledger=4, readers=1)
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
    assert_single_faults_keep_the_promises(CHECKPOINT, SMALLEST, step=32, least=30)


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_mutation_breaks_a_promise(name: str) -> None:
    assert_mutation_breaks_a_promise(CHECKPOINT, name, FOUND_BY[name])
