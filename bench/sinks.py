"""Writes of rows with six fields to JSON and Avro topics, and the cost of exactly-once.

    make bench        (or: python bench/sinks.py --only speed --rows 1000000 --repeat 5)

- speed: a batch and streams from Parquet files (epochs of 100,000 and of 500,000 rows). One competitor is send_async of
  the official Python client with a callback, with the client's schemas and with bytes of the fastest Python encoder.
  The other competitor is `pulsar-perf produce`, with payloads of equal size and equal batches and codec. Two rates of
  pulsar-perf count: of the first and the next ten seconds after the start of the JVM. A batch's time begins at save(),
  a stream's at start().
- exactly_once: a stream whose epochs have 100,000 rows, with and without transactions.

Competitors take turns, in processes of their own; the result file holds medians. All competitors share the
cores with the server, whose own CPU per row is in the file too. Absolute figures depend on the machine: read the
ratios.
"""

import argparse
import tempfile
from pathlib import Path

from run_report import arguments, new_report, write_report
from sink_speed import Bench, measure_exactly_once, measure_speed
from stream_server import stream_server


def main() -> None:
    given = _arguments()
    report = new_report(__file__)
    measures = {"speed": measure_speed, "exactly_once": measure_exactly_once}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch) / "pulsar") as server,
    ):
        bench = Bench(server, Path(scratch), given.rows, given.official_rows, given.repeat)
        for section in given.only.split(","):
            report[section] = measures[section](bench)
    write_report(report, given.result)


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "speed,exactly_once", "sink.json")
    parser.add_argument("--rows", type=int, default=2_000_000, help="a multiple of 500,000")
    parser.add_argument("--official-rows", type=int, default=200_000, help="of the official Python client")
    return parser.parse_args()


if __name__ == "__main__":
    main()
