"""The exactly-once sink in the simulated world: every single fault, and mutations that must be found.

These tests run in a process of their own (`make simulate`), because the simulation replaces the package's clock.
"""

import pytest

from simulation.case import Case
from simulation.checks import assert_mutation_breaks_a_promise, assert_single_faults_keep_the_promises
from simulation.faults import Fault, Kind
from simulation.search import mutated, shrunk
from simulation.sink.query import Size, random_case
from simulation.workloads import SINK

SMALLEST = Size(epochs=1, tasks=2, rows=1, partitions=1)
FOUND_BY = {
    "no marker": 12,
    "markers are not read": 426,
    "answers to commits are ignored": 426,
    "no exclusive producer": 890,
    "a decision counts as committed": 1,
    "a takeover does not commit": 1,
    "buffers are not made ready": 489,
    "messages of transactions are sent again": 643,
}
"""A seed that finds the mutation. After a change of the code, the test searches for another seed."""


def test_equal_cases_have_equal_histories() -> None:
    case = random_case(7)
    first, second = (SINK.run(case, keeps_history=True) for _ in range(2))
    assert first == second
    assert len(first.history) > 5
    again = SINK.run(Case(0, case.size, case.faults, first.choices), keeps_history=True)
    assert again.history == first.history


def test_seeds_decide_the_order_of_events() -> None:
    histories = {tuple(SINK.run(Case(seed, Size()), keeps_history=True).history) for seed in range(5)}
    assert len(histories) == 5


def test_without_faults_no_request_is_repeated() -> None:
    assert SINK.run(Case(0, SMALLEST, (), ())).requests == SINK.run(Case(0, SMALLEST, (), ())).requests < 200


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize("seconds", [0.005, 0.2, 3.0])
def test_a_task_waits_until_transaction_buffers_recover(seconds: float, partitions: int) -> None:
    """Brokers refuse transactional messages until they begin to recover the buffer of a loaded topic."""
    size = Size(epochs=1, tasks=1, partitions=partitions, until_recovery=(seconds,))
    outcome = SINK.run(Case(0, size, (), ()), keeps_history=True)
    assert outcome.faults == []
    assert [event for event in outcome.history if "fails" in event[2]] == []


def test_single_faults_keep_the_promises() -> None:
    assert_single_faults_keep_the_promises(SINK, SMALLEST, step=4, least=200)


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_mutation_breaks_a_promise(name: str) -> None:
    assert_mutation_breaks_a_promise(SINK, name, FOUND_BY[name])


def test_a_broken_run_becomes_simple() -> None:
    case = Case(3, Size(), tuple(Fault(request, Kind.UNLOAD) for request in (10, 60, 90)))
    with mutated(SINK, "a decision counts as committed"):
        outcome = SINK.run(case)
        assert outcome.faults
        simple = shrunk(SINK, case, outcome)
        assert SINK.run(simple).faults
    assert simple.faults == ()
    assert not any(simple.choices or ())
