"""The figures of `pyspark-pulsar size`: their formulas, their units, and what is refused."""

from __future__ import annotations

import math
import re

import pytest

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.tools.sizing.costs import KINDS, OF_A_TOPIC, PLANNING, costs_here, default_costs
from pyspark_pulsar.tools.sizing.estimate import Estimate, as_json, estimate
from pyspark_pulsar.tools.sizing.quantity import Quantity, largest, quantity, rounded_up
from pyspark_pulsar.tools.sizing.workload import Workload

CASE = Workload(
    topics=3000,
    messages_a_day=6e9,
    message_bytes=500,
    days=30,
    in_object_storage=0.5,
    in_columns=0.2,
    written=0.1,
    catch_up_hours=48,
    trigger_seconds=60,
    split_bytes=2**29,
)
_NUMBER = re.compile(
    r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?)(?: [A-Za-z·][A-Za-z·/^0-9]*| 1/[A-Za-z]+)?"
)


def _quantities(made: Estimate) -> dict[str, Quantity]:
    named = [*made.given.all(), *(cost for cost, _ in made.costs.all()), *made.figures().values()]
    return {each.name: each for each in named}


def _computed(formula: str, known: dict[str, Quantity]) -> float:
    """Return the result of a formula after replacing the names by their numbers."""
    values: list[float] = []

    def put(value: float) -> str:
        values.append(value)
        return f"v[{len(values) - 1}]"

    slots: dict[str, str] = {}
    for name in sorted(known, key=len, reverse=True):
        if name in formula:
            token = f"@{len(slots)}@"
            slots[token] = put(known[name].value)
            formula = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", token, formula)
    # Numbers with thousands in groups and with units; a token has digits too, between its marks.
    parts = re.split(r"(@\d+@)", formula)
    for index in range(0, len(parts), 2):
        parts[index] = _NUMBER.sub(lambda found: put(float(found[1].replace(",", ""))), parts[index])
    formula = "".join(parts)
    for token, slot in slots.items():
        formula = formula.replace(token, slot)
    scope = {"v": values, "round_up": lambda x: math.ceil(x - 1e-6), "exp": math.exp, "max": max, "min": min}
    return float(eval(formula, {"__builtins__": {}}, scope))


def test_a_reader_who_computes_a_formula_gets_the_figure() -> None:
    made = estimate(CASE, default_costs())
    known = _quantities(made)
    for name, figure in made.figures().items():
        others = {key: each for key, each in known.items() if key != name}
        assert _computed(figure.formula, others) == pytest.approx(figure.value, rel=2e-3), (
            name,
            figure.formula,
        )


def test_every_cost_has_a_part_in_some_figure() -> None:
    text = " ".join(
        figure.formula
        for kind in ("AVRO", "JSON", "PROTOBUF_NATIVE", "BYTES")
        for figure in estimate(_with(format=kind), default_costs()).figures().values()
    )
    assert [key for key in KINDS if key not in text] == [PLANNING]


def test_figures_have_the_units_that_they_are_read_in() -> None:
    figures = estimate(CASE, default_costs()).figures()
    units = {
        "messages a second": "message/s",
        "CPU of a message from entries": "core·s/message",
        "executors to catch up": "executor",
        "executors to keep up": "executor",
        "time to catch up": "s",
        "largest lag": "s",
        "from bookies": "B/s",
        "from object storage": "B/s",
        "from brokers at the peak": "B/s",
        "memory of the driver's Python": "B",
        "spark.executor.memoryOverhead": "B",
        "checkpoint's offsets": "B",
        "admin requests a second": "request/s",
    }
    assert {name: figures[name].unit for name in units} == units


def test_one_executor_is_the_least_and_nothing_is_below_zero() -> None:
    small = Workload(topics=1, messages_a_day=0, message_bytes=1, days=1)
    figures = estimate(small, default_costs()).figures()
    assert figures["executors to keep up"].value == 1
    assert all(figure.value >= 0 for figure in figures.values())


def test_without_history_there_is_no_report_on_it() -> None:
    made = estimate(_with(days=0), default_costs())
    assert made.catch_up is None
    assert "executors to catch up" not in made.figures()
    assert made.figures()["ledgers"].value == 3000


def test_catching_up_takes_no_longer_than_wanted() -> None:
    figures = estimate(CASE, default_costs()).figures()
    assert 0 < figures["time to catch up"].value <= 48 * 3600


def test_the_driver_alone_may_be_too_slow_for_the_time_that_is_wanted() -> None:
    with pytest.raises(OptionError, match="hours of planning alone, got"):
        estimate(_with(catch_up_hours=0.1), default_costs())


def test_a_trigger_may_be_too_short_for_the_driver() -> None:
    with pytest.raises(OptionError, match=r"trigger_seconds: expected more than"):
        estimate(_with(trigger_seconds=0.01), default_costs())


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"format": "XML"}, "expected one of AVRO"),
        ({"topics": 0}, "topics: expected a number from 1"),
        ({"messages_a_day": -1}, "messages_a_day: expected"),
        ({"utilization": 1.5}, "utilization: expected a number from 0.01 to 1"),
        ({"in_columns": 0.6}, "shares of at most 1 together"),
        ({"trigger_seconds": float("nan")}, "trigger_seconds: expected"),
    ],
)
def test_an_unusable_load_is_refused(changed: dict[str, float], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        _with(**changed)


def test_what_this_machine_measures_replaces_committed_costs_and_scales_the_others() -> None:
    committed = default_costs()
    measured = {"decode.AVRO.message": 3 * committed.values["decode.AVRO.message"]}
    measured["encode.AVRO.message"] = 3 * committed.values["encode.AVRO.message"]
    measured[PLANNING] = 5 * committed.values[PLANNING]
    costs = costs_here(measured)
    assert costs["decode.AVRO.message"].source == "measured on this machine"
    assert costs.values["spark.message"] == pytest.approx(3 * committed.values["spark.message"])
    assert costs.values["plan.topic"] == pytest.approx(5 * committed.values["plan.topic"])
    assert "times 5.00" in costs["plan.topic"].source
    assert costs.values["memory.ledger"] == committed.values["memory.ledger"]
    assert costs["memory.ledger"].source == "bench/results/sizing.json"


def test_a_users_own_topic_shows_the_cost_of_decoding() -> None:
    figures = estimate(CASE, costs_here({OF_A_TOPIC: 5e-6})).figures()
    assert OF_A_TOPIC in figures["CPU of a message from entries"].formula
    assert "decode.AVRO" not in figures["CPU of a message from entries"].formula


def test_json_has_each_figure_with_its_formula_and_each_cost_with_its_origin() -> None:
    told = as_json(estimate(CASE, default_costs()))
    lag = told["figures"]["Keeping up"]["largest lag"]
    assert lag["formula"] == "trigger interval + duration of a micro-batch"
    assert lag["unit"] == "s"
    assert told["given"]["topics"] == {"value": 3000, "unit": "topic", "from": "--topics"}
    assert set(told["costs"]["spark.task"]) == {"value", "unit", "from", "meaning"}


def test_quantities_of_different_units_do_not_add_up() -> None:
    time, size = quantity(2, "s", "time"), quantity(3, "B", "size")
    with pytest.raises(ValueError, match="expected equal units, got s of time and B of size"):
        _ = time + size
    with pytest.raises(ValueError, match="equal units"):
        largest(time, size)
    assert (size / time).unit == "B/s"
    assert (time / time).unit == ""


def test_a_formula_keeps_its_brackets() -> None:
    a, b, c = (quantity(number, "s", name) for number, name in ((8, "a"), (3, "b"), (2, "c")))
    assert ((a + b) * c).formula == "(a + b) * c"
    assert (a - (b - c)).formula == "a - (b - c)"
    assert (a / (b * c)).formula == "a / (b * c)"
    assert (a / (b / c)).formula == "a / (b / c)"
    assert rounded_up(a / b).value == 3
    assert (rounded_up(a / b) * c).formula == "round_up(a / b) * c"


def _with(**changed: object) -> Workload:
    told = {name: getattr(CASE, name) for name in CASE.__slots__}
    return Workload(**{**told, **changed})  # type: ignore[arg-type]
