"""Output about a query while it runs, and the end of watching."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from pyspark_pulsar.tools.monitoring.query_history import QueryHistory
from pyspark_pulsar.tools.monitoring.query_table import html_table, sparkline, text_table
from pyspark_pulsar.tools.monitoring.watch import QueryView, watch


def progress(batch: int, messages: int | None, title: str = "Pulsar[orders]") -> dict[str, Any]:
    lag = {"messages": messages, "bytes": 2048, "seconds": 1.5, "measuredAt": 1}
    source = {
        "description": title,
        "numInputRows": 10,
        "processedRowsPerSecond": 1234.5,
        "latestOffset": json.dumps({"version": 1, "positions": {}, "lag": lag}),
        "metrics": {"readFrom": "bookie 2, broker 1"},
    }
    return {"batchId": batch, "sources": [source]}


class Query:
    """A query that ends after its last progress report, in the ways in which queries end."""

    name = None
    id = "q-1"

    def __init__(self, *told: dict[str, Any], fault: Exception | None = None) -> None:
        self._told = list(told)
        self._fault = fault
        self.recentProgress: list[Any] = []
        self.status = {"message": "Processing new data"}
        self.isActive = True

    def awaitTermination(self, seconds: int) -> bool:  # noqa: N802
        assert seconds >= 1
        if self._told:
            self.recentProgress.append(SimpleNamespace(json=json.dumps(self._told.pop(0))))
            return False
        self.isActive = False
        if self._fault is not None:
            raise self._fault
        return True


def printed(history: QueryHistory) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(text_table(history))
    text = console.file
    assert isinstance(text, io.StringIO)
    return text.getvalue()


def test_a_row_for_each_source() -> None:
    history = QueryHistory("q", "running")
    for number in range(4):
        history.take(progress(number, number * 100))
    history.take(progress(3, 7))
    (row,) = [line for line in printed(history).splitlines() if "orders" in line]
    assert row.strip().split("  ")[0] == "Pulsar[orders]"
    for cell in ("1,234", "300", "2.0 KiB", "1.5 s", "bookie 2, broker 1", "▁▃▆█"):
        assert cell in row
    page = html_table(history)
    assert "<polyline" in page
    assert "Pulsar[orders]" in page


def test_names_stay_text() -> None:
    history = QueryHistory("<b>\x1b[31m")
    history.take(progress(1, 1, "<script>\x1b"))
    assert "\x1b" not in printed(history)
    assert "<script>" not in html_table(history)
    assert "<b>\\x1b" not in html_table(history)


@pytest.mark.parametrize(
    ("values", "line"), [([], ""), ([0, 0], "▁▁"), ([0, 7], "▁█"), ([8, 4, 0], "█▅▁"), (range(100), 30)]
)
def test_sparkline(values: list[float], line: str | int) -> None:
    found = sparkline(values)
    assert len(found) == line if isinstance(line, int) else found == line


@pytest.mark.parametrize(
    ("fault", "state"),
    [(None, "ended"), (RuntimeError("no disk\nat x"), "failed: no disk"), (OSError(), "failed: OSError")],
)
def test_watching_ends_with_the_query_and_raises_nothing(
    fault: Exception | None, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(Query(progress(1, 5), progress(2, 0), fault=fault))
    out = capsys.readouterr().out
    assert "Pulsar[orders]" in out
    assert f"q-1: {state}" in out


def test_an_interrupt_leaves_the_query(capsys: pytest.CaptureFixture[str]) -> None:
    query = Query(progress(1, 5), fault=KeyboardInterrupt())  # type: ignore[arg-type]
    watch(query)
    assert "still running; watching was stopped" in capsys.readouterr().out


def test_in_a_notebook_the_cell_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    handle = SimpleNamespace(update=lambda view: pages.append(view._repr_html_()))
    display = SimpleNamespace(display=lambda view, display_id: handle if display_id else view)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    watch(Query(progress(1, 5)))
    assert "q-1: ended" in pages[-1]
    assert "Pulsar[orders]" in repr(QueryView(_history()))


def _history() -> QueryHistory:
    history = QueryHistory("q")
    history.take(progress(1, 1))
    return history
