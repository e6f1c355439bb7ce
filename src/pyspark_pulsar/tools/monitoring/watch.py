"""A live table in a terminal or a notebook that shows the rate, the lag and the read locations of a streaming query.

The module runs in the user's program. The table also works with Spark Connect, because the query's progress contains
all numbers of the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from rich.console import Console
from rich.live import Live

from pyspark_pulsar.tools.monitoring.query_history import QueryHistory
from pyspark_pulsar.tools.monitoring.query_table import html_table, text_table

_ENDED, _LEFT, _GONE = "ended", "still running; watching was stopped", "cannot be reached any more"

_SECONDS: Final = 1.0
_COLUMNS: Final = 200
"""The width in characters for a pipe or a file, where rich would use 80."""


def watch(query: Any, seconds: float = _SECONDS) -> None:
    """Show a table of a streaming query until the query ends, and update the table every `seconds`.

    In a notebook, the table is the output of the cell. In a terminal, the table is updated in place. If the output is a
    pipe or a file, the table is printed once, at the end. If the query fails, only the query's own methods raise the
    error, and this function raises no error. An interruption (Ctrl+C, or the notebook's stop button) ends this
    function, and leaves the query running.
    """
    history = QueryHistory(str(query.name or query.id))
    show, close = _notebook(history) or _terminal(history)
    try:
        while not _wait_for_end(query, seconds, history):
            show()
    except KeyboardInterrupt:
        history.state = _LEFT
    finally:
        show()
        close()


class QueryView:
    """The view of a query in a notebook."""

    def __init__(self, history: QueryHistory) -> None:
        self._history = history

    def _repr_html_(self) -> str:
        return html_table(self._history)

    def __repr__(self) -> str:
        console = Console(width=160, color_system=None, emoji=False, markup=False, highlight=False)
        with console.capture() as captured:
            console.print(text_table(self._history))
        return captured.get()


def _wait_for_end(query: Any, seconds: float, history: QueryHistory) -> bool:
    """Wait for at most `seconds`, add the new progress to `history`, and return whether the query has ended.

    A query that cannot be reached is treated as ended.
    """
    state, ended = _GONE, True
    with suppress(Exception):
        try:
            ended = bool(query.awaitTermination(max(1, round(seconds))))
            state = _ENDED if ended else str(query.status["message"])
        except Exception as fault:  # noqa: BLE001 -- the query's own methods raise its error
            first = next(iter(str(fault).splitlines()), type(fault).__name__)
            state = _GONE if query.isActive else f"failed: {first}"
        for progress in query.recentProgress:
            history.take(json.loads(progress.json) if hasattr(progress, "json") else progress)
    history.state = state
    return ended


Draw = tuple[Callable[[], None], Callable[[], None]]
"""A function that shows the present history, and a function that ends the display."""


def _terminal(history: QueryHistory) -> Draw:
    console = Console(highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, markup=False, width=_COLUMNS)
    live = Live(text_table(history), console=console, auto_refresh=False)
    live.start()
    return lambda: live.update(text_table(history), refresh=True), live.stop


def _notebook(history: QueryHistory) -> Draw | None:
    """Return the functions that draw in a notebook.

    Return None if IPython is not loaded, or if IPython runs in a terminal.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle = import_module("IPython.display").display(QueryView(history), display_id=True)
    return lambda: handle.update(QueryView(history)), lambda: None
