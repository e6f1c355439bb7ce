"""Streams: their speed when they catch up, the costs of their triggers, and the latency from a message to its row.

    make bench        (or: python bench/streams.py --only catch_up,small_entries --repeat 5)

- catch_up: 2 million rows with Trigger.AvailableNow to the noop sink, from 1 and 4 partitions. Their
  competitors are the official Python client's batch_receive loop and the official Java client's Reader.
- small_entries: the measures of catch_up, from entries of 10 messages and of one message.
- triggers: the costs of triggers without messages and of triggers with few rows, against Spark's rate sources.
- latency: from publish to row at 2,000 messages/s, while the server shares the cores.

Competitors take turns, in processes of their own; the result file holds medians. A stream's rows per second include the
start of its query. Absolute figures depend on the machine: read the ratios.
"""

import argparse
import tempfile
from pathlib import Path

from run_report import arguments, new_report, write_report
from stream_server import stream_server
from stream_speed import cases, measure_speed
from stream_triggers import measure_latency, measure_triggers


def main() -> None:
    given = _arguments()
    only = given.only.split(",")
    report = new_report(__file__)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch)) as server,
    ):
        for case in cases(given.rows, given.small_rows, given.ten_rows):
            section = "catch_up" if case.batch > 10 else "small_entries"
            if section in only:
                report.setdefault(section, {})[case.name] = measure_speed(server, case, given.repeat)
        if "triggers" in only:
            report["triggers"] = measure_triggers(server, given.seconds / 3, given.repeat)
        if "latency" in only:
            report["latency"] = measure_latency(server, given.seconds)
    write_report(report, given.result)


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "catch_up,small_entries,triggers,latency", "stream.json")
    parser.add_argument("--rows", type=int, default=2_000_000, help="to catch up with")
    parser.add_argument("--small-rows", type=int, default=200_000, help="unbatched")
    parser.add_argument("--ten-rows", type=int, default=1_200_000, help="in tens")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the measure of latency")
    return parser.parse_args()


if __name__ == "__main__":
    main()
