"""Write the section "Comparison with other connectors" of docs/benchmarks.md, and its plots, from the result file.

python bench/peers/page.py [--result bench/results/peers.json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "scripts"))

from bars import Bars, svg

_ROOT: Final = Path(__file__).resolve().parents[2]
_RESULT: Final = _ROOT / "bench" / "results" / "peers.json"
_PAGE: Final = _ROOT / "docs" / "benchmarks.md"
_BEGIN: Final = "<!-- Written by bench/peers/page.py (`make bench-peers`) up to its end. -->\n"
_END: Final = "<!-- End of the part by bench/peers/page.py. -->\n"
_CODEC: Final = _ROOT / "bench" / "results" / "kernel_codec.json"
_PEER, _PRODUCT, _READY_COLUMNS = "pulsar-spark", "this package", "ready rows, as columns"
_CELLS: Final = {"json": "JSON", "avro": "Avro", "bytes": "bytes"}

_OWN_SPARK, _PEERS_SPARK = "spark of this package", "spark of pulsar-spark"
_NONE: Final = "\N{EN DASH}"
_HEAD: Final = """\
The command is `{command}` (peers.json, {day}), with the kernel of `{kernel}`: {machine}; load {load_before} before it.

- **Versions**: this package runs on PySpark {own}. pulsar-spark {connector}, the newest on Maven Central, runs on
  {others}. Both use local[2].
- **Data**: topics have 4 partitions, LZ4, batches of 1000, and closed ledgers. Rows have six fields of value and six
  columns of metadata. The bookie reads its disk 4,096 bytes at a time, as in Pulsar's bookkeeper.conf; in
  standalone.conf the value is 512.
- **Queries**: all competitors ran the same query text and returned the same answer. The tables contain only reads,
  because all writes of that pulsar-spark version fail on PySpark 3.5.
- **Numbers**: times are medians of the rounds, after {warm_up_rounds} rounds of all queries, in which the JVMs compile,
  including the server's. CPU is the client's for a row, JVM and Python.

"Ready rows" belong to a source in Python that has them in Arrow. Spark makes rows of them, as for every such source, or
the jar of this package passes them to Spark as columns. No source in Python can be faster. Spark's scan of the same
rows in Parquet shows the speed without Pulsar.
"""
_BOUND: Final = """\
The goals relative to ready columns are hard to reach. Ready columns cost Spark little CPU a row. The goal adds only a
fraction of this CPU for all other steps: find, fetch, check, decompress and decode the row. Decoding alone needs more.
The table shows the kernel on an otherwise idle core, for a row with six values and all columns of metadata
(kernel_codec.json)."""
_BOUND_OF_STREAMS: Final = """\
Streams that catch up keep all cores busy, so a goal by the trigger limits the CPU of a row. Subtract the CPU of the
servers on the same cores, and the cost of ready columns. The rest must suffice for decoding and all other work."""

Report = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--result", type=Path, default=_RESULT)
    report = json.loads(parser.parse_args().result.read_text())
    for path, text in written(report, _PAGE.read_text()).items():
        path.write_text(text)


def written(report: Report, page: str) -> dict[Path, str]:
    """Return the page, whose present text is `page`, and the plots: path to text."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    section = "\n".join(_section(report))
    plots = {_plot(name): svg(bars) for name, bars in _plots(report["measures"]).items()}
    return {_PAGE: f"{before}{_BEGIN}{section}{_END}{after}"} | plots


def _plot(name: str) -> Path:
    return _ROOT / "docs" / "pictures" / f"peers-{name}.svg"


def _section(report: Report) -> Iterator[str]:
    measures, versions = report["measures"], report["versions"]
    yield "## Comparison with other connectors"
    yield ""
    yield _HEAD.format(
        # Old results do not name the kernel: it was the one of `make build`.
        **{"kernel": "make build", "warm_up_rounds": "no"} | report,
        day=report["when"][:10],
        own=versions[_OWN_SPARK],
        others=versions[_PEERS_SPARK],
        connector=versions[_PEER],
    )
    for name, lines in _SECTIONS.items():
        if name in measures:
            yield from lines(measures[name])
            yield ""
    yield from _goal_table(report["goals"])
    yield ""
    if "batch" in measures:
        yield from _bound(measures["batch"], report["goals"])
        yield ""
    if "catch_up" in measures:
        yield from _bound_of_streams(measures["catch_up"], report["goals"], int(report["machine"].split()[0]))
        yield ""


def _batch(cells: Report) -> Iterator[str]:
    yield "![Rows a second of batch reads, by competitor](pictures/peers-batch.svg)"
    yield ""
    yield from _rates("Batch, aggregation", cells)


def _rates(title: str, cells: Report) -> Iterator[str]:
    yield from _table(title, cells, _rate)


def _table(title: str, cells: Report, shown: Callable[[Report, str], str]) -> Iterator[str]:
    """Yield a line for each cell, with the text that `shown` returns for each competitor."""
    names = _competitors(cells)
    yield f"| {title} | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for label, cell in cells.items():
        yield f"| {_label(label)} | {' | '.join(shown(cell['competitors'], name) for name in names)} |"


def _competitors(cells: Report) -> list[str]:
    """Return all names, in the order of the cell with the most competitors."""
    full = sorted(cells.values(), key=lambda cell: -len(cell["competitors"]))
    return list(dict.fromkeys(name for cell in full for name in cell["competitors"]))


def _rate(lines: Report, name: str) -> str:
    if name not in lines:
        return _NONE
    rate = lines[name]["rows_per_second"]
    times = f"{rate / lines[_PEER]['rows_per_second']:.1f}x: " if _PEER in lines and name != _PEER else ""
    return f"{times}{_thousands(rate)}, {lines[name]['cpu_microseconds_per_row']:.2f} µs"


def _clients(cells: Report) -> Iterator[str]:
    yield from _rates("The clients alone, payloads and ids", cells)


def _noop(cells: Report) -> Iterator[str]:
    yield from _rates("Batch, to the noop sink", cells)


def _catch_up(cells: Report) -> Iterator[str]:
    yield "![Rows a second of streams that catch up, by competitor](pictures/peers-catch-up.svg)"
    yield ""
    yield "Streams that catch up with `Trigger.AvailableNow` write all columns to the noop sink. Each cell has two"
    yield "rates: with the start of the query, and by the trigger alone."
    yield ""
    yield from _catch_up_table("Catch-up, warm", cells)


def _cold(cells: Report) -> Iterator[str]:
    yield from _catch_up_table("Catch-up, first query of a new session", cells)


def _catch_up_table(title: str, cells: Report) -> Iterator[str]:
    yield from _table(title, cells, _caught_up)


def _caught_up(lines: Report, name: str) -> str:
    rates = ("rows_per_second", "rows_per_second_by_trigger")
    own, others = lines[name], lines[_PEER]
    told = [
        _thousands(own[rate])
        if name == _PEER
        else f"{own[rate] / others[rate]:.1f}x: {_thousands(own[rate])}"
        for rate in rates
    ]
    return f"{'; '.join(told)}, {own['cpu_microseconds_per_row']:.2f} µs"


def _tenfold(measure: Report) -> Iterator[str]:
    small, large = (str(measure["rows"] * times) for times in (1, measure["times"]))
    yield "| Ten times the data, JSON, all columns | time | the client's memory, JVM and Python, at its peak |"
    yield "|---|---|---|"
    for name, own in measure["competitors"].items():
        seconds = (
            f"{own[small]['seconds']:.1f} s to {own[large]['seconds']:.1f} s: {own['times_the_seconds']}x"
        )
        peaks = " to ".join(f"{own[size]['peak_mebibytes']:,} MiB" for size in (small, large))
        memory = f"{peaks}: {own['times_the_memory']}x"
        python = " and ".join(f"{own[size]['peak_mebibytes_of_python']:,}" for size in (small, large))
        yield f"| {name} | {seconds} | {memory} (Python: {python} MiB) |"


def _latency(rates: Report) -> Iterator[str]:
    yield "![From publishing to the row, by competitor](pictures/peers-latency.svg)"
    yield ""
    yield "Time from publishing until `foreachBatch` has the row, without pauses between triggers, 4 partitions."
    yield ""
    first = next(iter(rates.values()))["competitors"]
    yield f"| Messages a second | {' | '.join(f'{name}, p50 / p99' for name in first)} |"
    yield "|---" * (len(first) + 1) + "|"
    for rate, measure in rates.items():
        told = [f"{own['p50_ms']:,} / {own['p99_ms']:,} ms" for own in measure["competitors"].values()]
        yield f"| {int(rate):,} | {' | '.join(told)} |"
    yield ""
    columns = [(rate, name) for rate in rates for name in (_PEER, _PRODUCT)]
    yield f"| Its parts, medians in ms | {' | '.join(f'{name}, {int(rate):,}/s' for rate, name in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for part in first[_PRODUCT]["parts_ms"]:
        told = [f"{rates[rate]['competitors'][name]['parts_ms'][part]:,.0f}" for rate, name in columns]
        yield f"| {part} | {' | '.join(told)} |"
    for name in (_PEER, _PRODUCT):
        stalls = sum(measure["competitors"][name].get("stalls", 0) for measure in rates.values())
        if stalls:
            yield ""
            yield (
                f"{name}: {stalls} queries returned no row for 20 s, and were started again. No number includes them. "
                f"In a stall that was examined, a task had read past the end of its range, and continued."
            )


def _small_topics(cells: Report) -> Iterator[str]:
    for label, cell in cells.items():
        lines = cell["competitors"]
        told = [
            f"{name} {own['seconds']:.2f} s (first: {own['first_seconds']:.2f} s)"
            for name, own in lines.items()
        ]
        yield f"A batch over {label}: {', '.join(told)}."


def _goal_table(goals: list[Report]) -> Iterator[str]:
    met = sum(goal["met"] for goal in goals)
    yield f"The goals were set before the measurements. {met} of {len(goals)} are met."
    yield ""
    yield "| Goal | Set | Reached | Result |"
    yield "|---|---|---|---|"
    for goal in goals:
        end = "met" if goal["met"] else "**short**"
        yield f"| {goal['what']} | {goal['is']} {goal['goal']:g} | {goal['got']:g} | {end} |"


def _bound(cells: Report, goals: list[Report]) -> Iterator[str]:
    """Compare the CPU that the goals of ready columns leave for a row with the CPU to decode it."""
    shares = {goal["what"]: goal["goal"] for goal in goals}
    yield _BOUND
    yield ""
    yield "| CPU for a row | ready columns | left by the goal | to decode it | this package in total |"
    yield "|---|---|---|---|---|"
    for label, cell in cells.items():
        share = shares.get(f"batch {label}: of {_READY_COLUMNS}")
        if share is None:
            continue
        ready, own = (
            cell["competitors"][name]["cpu_microseconds_per_row"] for name in (_READY_COLUMNS, _PRODUCT)
        )
        yield _microseconds(label, ready, ready * (1 / share - 1), _decoding(label), own)


def _bound_of_streams(cells: Report, goals: list[Report], cores: int) -> Iterator[str]:
    """Compare the same for the goals by the trigger."""
    times = {goal["what"]: goal["goal"] for goal in goals}
    yield _BOUND_OF_STREAMS
    yield ""
    yield "| CPU for a row | the goal | servers | ready columns | left by the goal | to decode it |"
    yield "|---|---|---|---|---|---|"
    for label, cell in cells.items():
        lines = cell["competitors"]
        most = cores * 1e6 / times[f"catch-up {label}, by the trigger: times {_PEER}"]
        most /= lines[_PEER]["rows_per_second_by_trigger"]
        servers = lines[_PRODUCT]["server_cpu_microseconds_per_row"]
        ready = lines[_READY_COLUMNS]["cpu_microseconds_per_row"]
        yield _microseconds(label, most, servers, ready, most - servers - ready, _decoding(label))


def _decoding(label: str) -> float:
    """Return the CPU microseconds of the kernel alone for a row of all columns; `label` begins with the format."""
    taken: float = _codec()[f"decode {label.partition(',')[0].upper()}"]["kernel"]["cpu_microseconds_per_row"]
    return taken


@cache
def _codec() -> Report:
    medians: Report = json.loads(_CODEC.read_text())["medians"]
    return medians


def _microseconds(label: str, *figures: float) -> str:
    return f"| {_label(label)} | {' | '.join(f'{figure:.2f} µs' for figure in figures)} |"


_SECTIONS: Final = {
    "batch": _batch,
    "noop": _noop,
    "clients": _clients,
    "catch_up": _catch_up,
    "cold": _cold,
    "tenfold": _tenfold,
    "latency": _latency,
    "small_topics": _small_topics,
}


def _plots(measures: Report) -> dict[str, Bars]:
    plots = {}
    title, unit = "Batch, one aggregation", "thousands of rows a second; longer is better"
    if "batch" in measures:
        plots["batch"] = Bars(title, unit, _lengths(measures["batch"], "rows_per_second"), _thousands)
    if "catch_up" in measures:
        title = "Streams that catch up, with the start of the query"
        plots["catch-up"] = Bars(title, unit, _lengths(measures["catch_up"], "rows_per_second"), _thousands)
    if "latency" in measures:
        groups = {
            f"{int(rate):,}/s, {quantile}": {
                name: float(own[f"{quantile}_ms"]) for name, own in _in_order(measure["competitors"])
            }
            for rate, measure in measures["latency"].items()
            for quantile in ("p50", "p99")
        }
        unit = "milliseconds; shorter is better"
        plots["latency"] = Bars(
            "From publishing to the row", unit, groups, lambda length: f"{length:,.0f} ms"
        )
    return plots


def _lengths(cells: Report, what: str) -> dict[str, dict[str, float]]:
    return {
        _label(label): {name: own[what] for name, own in _in_order(cell["competitors"])}
        for label, cell in cells.items()
    }


def _in_order(competitors: Report) -> list[tuple[str, Report]]:
    """Sort this package and the other connector first, so that they have the same colors in all plots."""
    first = (_PRODUCT, _PEER)
    return sorted(
        competitors.items(), key=lambda each: first.index(each[0]) if each[0] in first else len(first)
    )


def _label(name: str) -> str:
    """Return the label of a cell: `JSON, 2,000,000 rows` for `json, 2000000`."""
    value_format, _, rest = name.partition(", ")
    named = f"{int(rest):,} rows" if rest.isdigit() else rest
    return ", ".join(filter(None, [_CELLS.get(value_format, value_format), named]))


def _thousands(rate: float) -> str:
    return f"{rate / 1000:,.0f}k"


if __name__ == "__main__":
    main()
