"""Benchmarks of this package beside its peers: the other connector, the official clients and the upper bounds, in turn.

    make bench-peers        (or: python bench/peers --only batch,latency --rows 100000 --repeat 1)

- batch: aggregations of JSON and Avro topics (values, all 12 columns, or one column) and of a bytes topic.
- noop: a JSON topic to the sink that drops rows.
- clients: the official Python and Java clients and pulsar-perf on the same topics.
- catch_up: streams with Trigger.AvailableNow to the noop sink, by the trigger and with the start of the query.
- cold: the streams of catch_up as the first query of a new session.
- tenfold: ten times the data: the time, and the peak memory of the client.
- small_topics: a batch over 300 topics with three messages each.
- latency: the time from publishing to the row at steady rates, p50 and p99, and the parts of this time.

The other connector is pulsar-spark by StreamNative from Maven Central, on PySpark 3.5 in an environment of its own. Its
writes fail there, so only reads are measured. One bound is a source in Python with ready rows in Arrow, which Spark
converts to rows or the jar hands over as columns. The other bound is Spark's own scan of the same rows in Parquet. All
competitors run the same query over the same columns, and must return the same answer. Competitors take turns; the
result file holds medians of all rounds but the first. All share the cores with the server: read the ratios.

Before the first measure all competitors run the queries of `batch` and `catch_up` in turn, `--warm-up` times. Without
this the compilers of the JVMs, the server's too, would use a third of the measured time. `cold` and `latency` have
sessions of their own.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
sys.path.insert(2, str(Path(__file__).resolve().parents[2] / "tests"))

from batch import measure_batch, measure_noop, warm_up_batch
from benchmark import Bench
from catch_up import measure_catch_up, measure_cold_catch_up, warm_up_catch_up
from clients import measure_clients
from competitors import sessions
from goals import goals
from latency import measure_latency
from run_report import arguments, new_report, write_report
from small_topics import measure_small_topics
from stream_server import stream_server
from tenfold import measure_tenfold
from topics import Topics

MEASURES: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "batch": measure_batch,
    "noop": measure_noop,
    "clients": measure_clients,
    "catch_up": measure_catch_up,
    "cold": measure_cold_catch_up,
    "tenfold": measure_tenfold,
    "small_topics": measure_small_topics,
    "latency": measure_latency,
}


def main() -> None:
    given = _arguments()
    report = new_report(__file__) | {"warm_up_rounds": given.warm_up}
    measures: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch) / "pulsar") as server,
        sessions(server, Path(scratch)) as both,
    ):
        report["versions"] |= both.versions
        bench = Bench(
            both,
            Topics(both, Path(scratch)),
            Path(scratch),
            given.rows,
            given.catch_up_rows,
            given.latency_rates,
            given.seconds,
            given.repeat,
        )
        for _ in range(given.warm_up):
            warm_up_batch(bench)
            warm_up_catch_up(bench)
        for name in given.only.split(","):
            measures[name] = MEASURES[name](bench)
            write_report(report | {"measures": measures, "goals": goals(measures)}, given.result)
    for goal in goals(measures):
        print(
            f"{'met  ' if goal['met'] else 'short'} {goal['what']}: {goal['got']} ({goal['is']} {goal['goal']})"
        )


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, ",".join(MEASURES), "peers.json")
    parser.set_defaults(repeat=5)
    parser.add_argument("--warm-up", type=int, default=5, help="rounds of queries before the first measure")
    parser.add_argument("--rows", type=int, default=2_000_000, help="of a topic")
    parser.add_argument("--catch-up-rows", type=_numbers, default=(2_000_000, 10_000_000), help="with commas")
    parser.add_argument(
        "--latency-rates", type=_numbers, default=(2_000, 20_000), help="messages a second, with commas"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="of each round of latency")
    given = parser.parse_args()
    unknown = [name for name in given.only.split(",") if name not in MEASURES]
    if unknown:
        parser.error(f"--only: expected some of {', '.join(MEASURES)}, got {', '.join(unknown)}")
    return given


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


if __name__ == "__main__":
    main()
