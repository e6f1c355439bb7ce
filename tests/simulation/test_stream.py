"""A query that reads a topic in the simulated world: single faults, and mutations that must be found."""

import pytest

from simulation.checks import assert_mutation_breaks_a_promise, assert_single_faults_keep_the_promises
from simulation.stream.query import Size, random_case
from simulation.workloads import STREAM

SMALLEST = Size(partitions=1, writers=1, messages=6, entries_of_ledger=3)
FOUND_BY = {
    "messages are acknowledged before they are read": 1,
    "a subscription proves nothing": 9,
}
"""A seed that finds the mutation. After a change of the code, the test searches for another seed."""


def test_single_faults_keep_the_promises() -> None:
    assert_single_faults_keep_the_promises(STREAM, SMALLEST, step=16, least=30)


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_mutation_breaks_a_promise(name: str) -> None:
    assert_mutation_breaks_a_promise(STREAM, name, FOUND_BY[name])


@pytest.mark.parametrize("seed", [9, 68, 76, 189, 220])
def test_seeds_that_found_false_losses(seed: int) -> None:
    assert STREAM.run(random_case(seed)).faults == []
