"""The types for a procedure's signature and result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure. The first parameter of each procedure is `table`."""

    name: str
    type: str
    """The SQL type of the parameter."""
    default: str | None
    """The default value as an SQL expression; None if the parameter is required."""
    comment: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a procedure call. The result is incomplete while `follow` is not None."""

    rows: list[Row]
    """The rows of the result, with values in the order of the procedure's columns."""
    follow: Mapping[str, Any] | None = None
    """The state of unfinished work in the broker, as JSON, for `Procedure.follow`; None if the work is finished."""


def refuse_follow(cluster: Cluster, state: Mapping[str, Any]) -> Answer:
    """Raise AssertionError, because the procedure never leaves unfinished work."""
    raise AssertionError(
        f"procedure state {state} of {cluster}: expected no unfinished work; report this as a bug"
    )


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure of the catalog. A call raises the errors of `AdminClient` and the errors of the function `call`."""

    description: str
    columns: pa.Schema
    call: Callable[..., Answer]
    """The function that runs the procedure. Its arguments are the cluster, the topic, and each parameter by name."""
    parameters: tuple[Parameter, ...] = ()
    follow: Callable[[Cluster, Mapping[str, Any]], Answer] = field(default=refuse_follow)
    """The function that queries the progress. Its arguments are the cluster and `follow` of the previous answer."""


TABLE: Final = Parameter("table", "STRING", None, "the table, named as in a FROM clause")
WAIT: Final = Parameter("wait", "BOOLEAN", "false", "whether the call waits until the broker has finished")
