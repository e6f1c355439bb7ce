"""What a procedure takes and gives, as Spark is told before it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from pyspark_pulsar.catalog.cluster import Cluster

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """After `table`, which each procedure takes first: the name of a table of the catalog."""

    name: str
    type: str
    """As in SQL."""
    default: str | None
    """As in SQL; None for one that must be given."""
    comment: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gives now."""

    rows: list[Row]
    """In the order of the procedure's columns."""
    follow: Mapping[str, Any] | None = None
    """What goes on in the broker and is waited for: JSON that `Procedure.follow` takes. None when it is over."""


def never(cluster: Cluster, state: Mapping[str, Any]) -> Answer:
    """Of a procedure that is over when it has been called."""
    raise AssertionError(f"expected nothing to be followed, got {state} of {cluster}")


@dataclass(frozen=True, slots=True)
class Procedure:
    """Raises the errors of `AdminClient`, and those that its module names."""

    description: str
    columns: pa.Schema
    call: Callable[..., Answer]
    """Given the cluster, the topic, and each parameter by its name."""
    parameters: tuple[Parameter, ...] = ()
    follow: Callable[[Cluster, Mapping[str, Any]], Answer] = field(default=never)
    """Given the cluster and what the answer before said to follow."""


TABLE: Final = Parameter("table", "STRING", None, "the table, as in FROM")
WAIT: Final = Parameter("wait", "BOOLEAN", "false", "whether the call ends when the broker is done")
