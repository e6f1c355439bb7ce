"""Commits to a Delta table, so that of two processes that tier one topic at once exactly one does. Driver only.

The log is a row of commits, each a file that is made only if it is not there: on a state only one commit follows.
Retries undo this: delta-rs commits again upon a newer state, where it sees no conflict, and between two that add files
it sees none. Then a range would be in the table twice. So it never retries for us:

    commit               somebody else has committed meanwhile
    create, evolve       refused
    add files            another commit of ours, other columns or settings   refused
                         files rearranged or removed by another engine       again, upon that state
    replace files        refused

Whether the other commit is one of ours is told by the fence (`positions.COMMITS`), a transaction identifier that each
commit of ours moves. delta-rs refuses two commits that move one identifier, so the fence would hold its retries as
well, were they on.

A rearrangement by another engine that began before ours brings replaced rows back: delta-rs 1.6 does not see that both
remove the same files, though it sees changed metadata. So a commit that replaces files follows one that changes some
(`REARRANGED`).

Each commit has an id in its commit information. After a fault the log is looked at: a commit with the id was done,
though the answer was lost, or what delta-rs does behind it failed, as a checkpoint.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.delta.table_state import TableState
from pyspark_pulsar.history.columnar.table import TableMoved

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

REARRANGED: Final = "pulsar.rearranged"
"""Of `TableState.notes`: the number of the commit that replaced files last."""
_ID: Final = "pulsar.commit-id"
_TRIALS: Final = 20
"""Of a commit that other engines keep overtaking."""

Write = Callable[["DeltaTable", "CommitProperties"], None]
"""Commits upon the state of the table that it is given."""


def committed(
    state: TableState,
    write: Write,
    *,
    may_rebase: bool = False,
    information: Mapping[str, Any] | None = None,
    numbers: Mapping[str, int] | None = None,
) -> TableState:
    """The state behind the commit.

    `information`: for its commit information; `numbers`: transaction identifiers that it moves. Raises `TableMoved`
    where it was refused, `ColumnsUnavailable` where it is not known whether it was done, or where the table does not
    take it.
    """
    from deltalake.exceptions import CommitFailedError, DeltaError, SchemaMismatchError

    location, commit_id = state.location, uuid.uuid4().hex
    properties = commit_properties({**(information or {}), _ID: commit_id}, numbers or {})
    for _ in range(_TRIALS):
        try:
            write(state.delta, properties)
        except SchemaMismatchError:
            raise
        except (DeltaError, OSError) as fault:
            reason, is_refused = location.reason(fault), isinstance(fault, CommitFailedError)
        else:
            return _loaded(state, "it was done")
        latest = _loaded(state, reason)
        if _holds(latest, state, commit_id):
            return latest
        if not is_refused or latest.version == state.version:
            raise ColumnsUnavailable(
                f"table {location.url}: expected to commit to it, got {reason}; look at the table: what it says is so"
            )
        if not may_rebase or latest.commits != state.commits or not latest.is_defined_as(state):
            raise TableMoved(reason)
        state = latest
    raise TableMoved("other engines have committed each time")


def commit_properties(information: Mapping[str, Any], numbers: Mapping[str, int]) -> CommitProperties:
    """Without retries."""
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata=dict(information),
        max_commit_retries=0,
        app_transactions=[Transaction(name, number) for name, number in numbers.items()],
    )


def _loaded(state: TableState, reason: str) -> TableState:
    """As the table is now."""
    from deltalake.exceptions import DeltaError

    try:
        return TableState(state.location.load(), state.location)
    except (DeltaError, OSError) as fault:
        raise ColumnsUnavailable(
            f"table {state.location.url}: expected to see whether a commit was done ({reason}), got "
            f"{state.location.reason(fault)}; look at the table: what it says is so"
        ) from None


def _holds(latest: TableState, before: TableState, commit_id: str) -> bool:
    """Whether a commit of that id is behind the state `before`."""
    versions = range(before.version + 1, latest.version + 1)
    return any((latest.information(version) or {}).get(_ID) == commit_id for version in versions)
