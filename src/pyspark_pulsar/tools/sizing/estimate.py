"""The figures of a workload. Each figure is computed from earlier figures and inputs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from pyspark_pulsar.tools.sizing.costs import Costs
from pyspark_pulsar.tools.sizing.driver import Driver, driver_of
from pyspark_pulsar.tools.sizing.history import (
    CatchUp,
    History,
    MessageCosts,
    catch_up_of,
    history_of,
    ledgers_a_day,
    mean_rate,
    message_costs,
)
from pyspark_pulsar.tools.sizing.quantity import Quantity
from pyspark_pulsar.tools.sizing.steady_stream import SteadyStream, steady_stream
from pyspark_pulsar.tools.sizing.workload import Workload
from pyspark_pulsar.tools.sizing.workload_quantities import WorkloadQuantities, workload_quantities

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class Estimate:
    """The figures of a workload, with their inputs."""

    given: WorkloadQuantities
    costs: Costs
    message: MessageCosts
    history: History
    catch_up: CatchUp | None
    """The figures of reading the history; None if there is no history."""
    steady: SteadyStream
    driver: Driver

    def sections(self) -> dict[str, tuple[Quantity, ...]]:
        """Return the figures of each section, by the title of the section.

        The formula of a figure contains only inputs of the workload, costs, previous figures, and numbers.
        """
        past = () if self.catch_up is None else (*_figures(self.history), *_figures(self.catch_up))
        ledgers = (self.history.ledgers,) if self.catch_up is None else ()
        return {
            "A message": (mean_rate(self.given), *_figures(self.message)),
            "The history": (ledgers_a_day(self.given), *past, *ledgers),
            "Keeping up": _figures(self.steady),
            "The driver and other services": _figures(self.driver),
        }

    def summary(self) -> tuple[Quantity, ...]:
        """Return the figures that matter for choosing hardware."""
        past = self.catch_up
        return (
            self.steady.executors,
            *(() if past is None else (past.executors, past.time)),
            self.steady.most_lag,
            self.steady.from_brokers,
            *(() if past is None else (past.from_bookies, past.from_object_storage, past.from_brokers)),
            self.driver.python,
            self.driver.heap,
            self.driver.overhead,
            self.driver.requests,
            self.driver.checkpoint,
        )

    def figures(self) -> dict[str, Quantity]:
        """Return all figures by name."""
        return {figure.name: figure for section in self.sections().values() for figure in section}


def estimate(workload: Workload, costs: Costs) -> Estimate:
    """Compute all figures of a workload.

    Raises `OptionError` if the time to catch up or the trigger interval is too short for the work of the driver.
    """
    given = workload_quantities(workload)
    message = message_costs(given, costs, workload.format)
    history = history_of(given, costs)
    catch_up = catch_up_of(given, costs, history, message) if history.messages.value else None
    return Estimate(
        given,
        costs,
        message,
        history,
        catch_up,
        steady_stream(given, costs, history, message),
        driver_of(given, costs, history),
    )


def as_json(made: Estimate) -> dict[str, Any]:
    """Return all quantities as JSON objects, in base units: bytes, seconds, and `core·s` for a second of one core."""
    return {
        "given": {each.name: _to_json(each) for each in made.given.all()},
        "costs": {each.name: _to_json(each) | {"meaning": meaning} for each, meaning in made.costs.all()},
        "figures": {
            title: {each.name: _to_json(each) for each in section}
            for title, section in made.sections().items()
        },
    }


def _to_json(each: Quantity) -> dict[str, Any]:
    shown = {"value": each.value, "unit": each.unit}
    return shown | ({"from": each.source} if each.source else {"formula": each.formula})


def _figures(part: DataclassInstance) -> tuple[Quantity, ...]:
    return tuple(cast("Quantity", getattr(part, field.name)) for field in fields(part))
