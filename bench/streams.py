"""Streams: how fast they catch up, what their triggers cost, and how soon a message is a row.

    make bench        (or: python bench/streams.py --only catch_up,small_entries --repeat 5)

catch_up       2 million rows with Trigger.AvailableNow to the noop sink, from 1 and 4 partitions, against the official
               Python client's batch_receive loop and the official Java client's Reader
small_entries  the same from entries of 10 messages and of one
triggers       what a trigger without news costs, and one with few rows, against Spark's rate sources
latency        from publish to row at 2,000 messages/s, while the server shares the cores

Competitors take turns, in processes of their own; the result file holds medians. A stream's rows per second include the
start of its query. Absolute figures depend on the machine: read the ratios.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulsar as official
import pyarrow as pa
import pyspark
from process_use import load_average
from stream_server import stream_server
from stream_speed import cases, measure_speed
from stream_triggers import measure_latency, measure_triggers

RESULT = Path(__file__).parent / "results" / "stream.json"


def main() -> None:
    given = _arguments()
    only = given.only.split(",")
    report: dict[str, Any] = {
        "command": " ".join(["python bench/streams.py", *sys.argv[1:]]),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, server on the same cores",
        "load_before": round(load_average(), 2),
        "versions": {
            "python": platform.python_version(),
            "pyarrow": pa.__version__,
            "spark": pyspark.__version__,
            "pulsar-client": official.__version__,
        },
    }
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch)) as server,
    ):
        for case in cases(given.rows, given.small_rows):
            section = "catch_up" if case.batch > 10 else "small_entries"
            if section in only:
                report.setdefault(section, {})[case.name] = measure_speed(server, case, given.repeat)
        if "triggers" in only:
            report["triggers"] = measure_triggers(server, given.seconds / 3, given.repeat)
        if "latency" in only:
            report["latency"] = measure_latency(server, given.seconds)
    report["load_after"] = round(load_average(), 2)
    given.result.parent.mkdir(exist_ok=True)
    given.result.write_text(json.dumps(report, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="catch_up,small_entries,triggers,latency")
    parser.add_argument("--rows", type=int, default=2_000_000, help="to catch up with")
    parser.add_argument("--small-rows", type=int, default=200_000, help="unbatched; twice as many in tens")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the measure of latency")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--result", type=Path, default=RESULT)
    return parser.parse_args()


if __name__ == "__main__":
    main()
