"""Write the charts in docs/pictures from the files in bench/results.

Run the script as `python scripts/generate_charts.py`; `make docs` does. A unit test fails while a chart differs from
the files. A chart has a bar for each measure, on one linear axis that begins at 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"

_WIDTH = 400
_ROW = 40
_HEAD = 26


@dataclass(frozen=True)
class Bar:
    """A measure in a chart. `ours` is true for a measure of this package, and determines the color of the bar."""

    label: str
    value: float
    text: str
    ours: bool


def charts() -> dict[Path, str]:
    """Return the text of each chart, by the path of the chart."""
    return {
        PICTURES / "speed.svg": _chart("Times as fast as the official Python client", _speed()),
        PICTURES / "catching-up.svg": _chart("A stream catches up, start included: rows/s", _catching_up()),
        PICTURES / "writing.svg": _chart("Writing Avro: rows/s", _writing()),
        PICTURES / "columns.svg": _chart("1 of 10 columns of 10 million rows: seconds", _columns()),
    }


def _speed() -> list[Bar]:
    clients, segments = _result("client_side_by_side")["medians"], _result("segments")["speed"]
    stream, sink = _result("stream")["catch_up"], _result("sink")["speed"]["Avro"]["measures"]
    read = clients["read, batched entries"]
    history = segments["batches of 1000, 100 B, ensemble 2"]["measures"]
    catching_up = stream["catch up, 4 partitions, entries of 1000 messages"]["measures"]
    official = catching_up["official Python client, batch_receive"]
    times = [
        ("Read in Spark", _times(read["this package, in Spark"], read["official client"])),
        ("Read to Arrow, without Spark", _times(read["this package, to Arrow"], read["official client"])),
        (
            "Read history from bookies, in Spark",
            _times(history["bookies, in Spark"], history["official Reader"]),
        ),
        (
            "Catch up with a stream, start included",
            _times(catching_up["this package, readStream to noop"], official),
        ),
        (
            "Write Avro from Spark",
            _times(sink["this package, batch"], sink["official Python client, its schema"]),
        ),
    ]
    bars = [Bar(label, value, f"{value:.1f}x", ours=True) for label, value in times]
    return [Bar("The official Python client", 1.0, "1x", ours=False), *bars]


def _catching_up() -> list[Bar]:
    measures = _result("stream")["catch_up"]["catch up, 4 partitions, entries of 1000 messages"]["measures"]
    return [
        _rate("Official Python client", measures["official Python client, batch_receive"], ours=False),
        _rate("Official Java client", measures["official Java client, Reader"], ours=False),
        _rate("readStream", measures["this package, readStream to noop"], ours=True),
        _rate(
            "readStream, from bookies", measures["this package, readStream to noop, from bookies"], ours=True
        ),
    ]


def _writing() -> list[Bar]:
    measures = _result("sink")["speed"]["Avro"]["measures"]
    return [
        _rate(
            "Official Python client, its schema", measures["official Python client, its schema"], ours=False
        ),
        _rate("pulsar-perf produce, warm", measures["pulsar-perf produce, its next ten seconds"], ours=False),
        _rate("Batch", measures["this package, batch"], ours=True),
        _rate(
            "Stream, 500,000 rows an epoch",
            measures["this package, stream of 500,000 rows an epoch"],
            ours=True,
        ),
    ]


def _columns() -> list[Bar]:
    measures = _result("tier_scan")["speed"]["queries"]["1 of 10 columns"]["measures"]
    named: list[tuple[str, str, bool]] = [
        ("Parquet files alone, in Spark", "Parquet files", False),
        ("Topic, from bookies", "bookies", True),
        ("Topic, from its table by the data source", "data source, columns", True),
        ("Topic, from its table in SQL", "SQL, columns", True),
    ]
    return [
        Bar(label, measures[key]["seconds"], f"{measures[key]['seconds']:.2f} s", ours=ours)
        for label, key, ours in named
    ]


def _result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())
    return found


def _times(measure: dict[str, Any], other: dict[str, Any]) -> float:
    return float(measure["rows_per_second"]) / float(other["rows_per_second"])


def _rate(label: str, measure: dict[str, Any], *, ours: bool) -> Bar:
    return Bar(label, measure["rows_per_second"], f"{measure['rows_per_second'] / 1000:,.0f}k", ours=ours)


def _chart(title: str, bars: Sequence[Bar]) -> str:
    longest = max(bar.value for bar in bars)
    rows = "".join(_row(bar, _HEAD + index * _ROW, longest) for index, bar in enumerate(bars))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {_WIDTH} {_HEAD + len(bars) * _ROW}">\n'
        f"  <title>{escape(title)}</title>\n{picture_style()}"
        f'  <text class="head" x="2" y="16">{escape(title)}</text>\n{rows}</svg>\n'
    )


def _row(bar: Bar, top: int, longest: float) -> str:
    length = round(max(bar.value / longest * (_WIDTH - 60), 1), 1)
    color = "own" if bar.ours else "pulsar"
    return (
        f'  <text class="small" x="2" y="{top + 13}">{escape(bar.label)}</text>\n'
        f'  <rect class="{color}" style="fill: var(--{color}-line)" x="2" y="{top + 18}" width="{length}" '
        f'height="14" rx="2"/>\n'
        f'  <text class="small head" x="{length + 8:g}" y="{top + 29}">{escape(bar.text)}</text>\n'
    )


def picture_style() -> str:
    """Return the style that each picture contains, with the colors."""
    lines = (PICTURES / "architecture.svg").read_text().splitlines(keepends=True)
    first, last = lines.index("  <style>\n"), lines.index("  </style>\n")
    return "".join(lines[first : last + 1])


def write(pages: Callable[[], dict[Path, str]]) -> None:
    """Write the pages that are missing or stale."""
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    write(charts)
