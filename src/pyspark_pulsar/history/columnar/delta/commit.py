"""Commits to a Delta table. If two processes tier one topic at the same time, only one of their commits succeeds.

Driver only. The log is a sequence of commits. Each commit is a file with the commit's number as its name. The file is
created only if no such file exists yet, so only one commit can follow a state. Retries by delta-rs would break this
rule, because delta-rs retries a commit on a newer state unless it detects a conflict. Two commits that add files do not
conflict for delta-rs, so the table would contain a range of messages twice. Therefore retries by delta-rs are disabled.
If another process has committed first, our commit has one of these results:

    our commit           result
    create, evolve       the commit fails
    add files            the commit fails if the other commit is from this package, or changed columns or settings;
                         the commit runs again on the newer state if another engine rearranged or removed files
    replace files        the commit fails

The fence (`positions.COMMITS`) shows whether the other commit is from this package. The fence is the number of a
transaction identifier, and each commit of this package increments the number. Two commits that change the same
identifier conflict, so the fence would also stop retries by delta-rs.

If another engine began to rearrange files before our commit, the other engine's commit could restore rows that we
replaced. The reason is that delta-rs 1.6 does not notice that both commits remove the same files. However, delta-rs
notices changed metadata. So before each commit that replaces files, this package makes a commit that changes metadata
(`REARRANGED`).

Each commit has an id in the commit information. After an error, this module searches the log for the id. If the log
contains the id, the commit succeeded. The error then only means that the response was lost, or that a later step of
delta-rs failed, such as a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_pulsar.errors import ColumnsUnavailable
from pyspark_pulsar.history.columnar.delta.table_state import TableState
from pyspark_pulsar.history.columnar.table import TableMoved
from pyspark_pulsar.runtime import uuid

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

REARRANGED: Final = "pulsar.rearranged"
"""The key in `TableState.notes` for the number of the commit that last replaced files."""
_ID: Final = "pulsar.commit-id"
_MOST_ATTEMPTS: Final = 20
"""The maximum number of attempts for a commit, if other engines always commit first."""

Write = Callable[["DeltaTable", "CommitProperties"], None]
"""A function that commits to the table. The arguments are a state of the table and the properties of the commit."""


def write_commit(
    state: TableState,
    write: Write,
    *,
    may_rebase: bool = False,
    information: Mapping[str, Any] | None = None,
    numbers: Mapping[str, int] | None = None,
) -> TableState:
    """Commit to the table, and return the state after the commit.

    Args:
        state: The state of the table that the commit follows.
        write: Writes the commit.
        may_rebase: Whether the commit is allowed to follow a later state than `state`, if other engines have committed.
        information: Entries for the commit information.
        numbers: The transaction identifiers that the commit sets, with their numbers.

    Raises:
        TableMoved: Another process has committed first.
        ColumnsUnavailable: The outcome of the commit is unknown, or the commit failed for another reason.

    """
    from deltalake.exceptions import CommitFailedError, DeltaError, SchemaMismatchError

    location, commit_id = state.location, uuid.uuid4().hex
    properties = commit_properties({**(information or {}), _ID: commit_id}, numbers or {})
    for _ in range(_MOST_ATTEMPTS):
        try:
            write(state.delta, properties)
        except SchemaMismatchError:
            raise
        except (DeltaError, OSError) as fault:
            reason, is_refused = location.reason(fault), isinstance(fault, CommitFailedError)
        else:
            return _load_state(state, "the commit was written")
        latest = _load_state(state, reason)
        if _contains_commit(latest, state, commit_id):
            return latest
        if not is_refused or latest.version == state.version:
            raise ColumnsUnavailable(
                f"table {location.url}: expected to write a commit, got {reason}; reload the table to see whether "
                f"the commit is in its log"
            )
        if not may_rebase or latest.commits != state.commits or not latest.is_defined_as(state):
            raise TableMoved(reason)
        state = latest
    raise TableMoved(f"other engines committed first, {_MOST_ATTEMPTS} times")


def commit_properties(information: Mapping[str, Any], numbers: Mapping[str, int]) -> CommitProperties:
    """Return commit properties that disable the retries of delta-rs."""
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata=dict(information),
        max_commit_retries=0,
        app_transactions=[Transaction(name, number) for name, number in numbers.items()],
    )


def _load_state(state: TableState, reason: str) -> TableState:
    """Load the table's present state."""
    from deltalake.exceptions import DeltaError

    try:
        return TableState(state.location.load(), state.location)
    except (DeltaError, OSError) as fault:
        raise ColumnsUnavailable(
            f"table {state.location.url}: expected to read the log after a commit ({reason}), got "
            f"{state.location.reason(fault)}; reload the table to see whether the commit succeeded"
        ) from None


def _contains_commit(latest: TableState, before: TableState, commit_id: str) -> bool:
    """Return whether the log contains a commit with the id after the state `before`, up to the state `latest`."""
    versions = range(before.version + 1, latest.version + 1)
    return any((latest.information(version) or {}).get(_ID) == commit_id for version in versions)
