"""The parameters and results of a procedure, which Spark needs before a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure, after `table`. Each procedure has the name of a table as its first parameter."""

    name: str
    type: str
    """The type in SQL."""
    default: str | None
    """The default in SQL; None if the parameter is required."""
    comment: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The present result of a call."""

    rows: list[Row]
    """Values in the order of the procedure's columns."""
    follow: Mapping[str, Any] | None = None
    """The state of unfinished work in the broker, as JSON for `Procedure.follow`; None if the work is finished."""


def refuse_follow(cluster: Cluster, state: Mapping[str, Any]) -> Answer:
    """Fail, because the procedure has finished with its call."""
    raise AssertionError(f"expected nothing to be followed, got {state} of {cluster}")


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure of the catalog. It raises the errors of `AdminClient`, and the errors that its module names."""

    description: str
    columns: pa.Schema
    call: Callable[..., Answer]
    """Called with the cluster, the topic, and each parameter by its name."""
    parameters: tuple[Parameter, ...] = ()
    follow: Callable[[Cluster, Mapping[str, Any]], Answer] = field(default=refuse_follow)
    """Called with the cluster and the `follow` of the previous answer."""


TABLE: Final = Parameter("table", "STRING", None, "the table, as in FROM")
WAIT: Final = Parameter("wait", "BOOLEAN", "false", "whether the call waits until the broker has finished")
