"""Gains and costs of reading segments from bookies instead of the broker, on a cluster of one broker and three bookies.

    make bench        (or: python bench/segments.py --only speed,ranges --repeat 3)

- speed: 4 partitions of messages of 100 bytes and of 1 KiB, LZ4, two copies. Rows per second and CPU per row of the
  reading process, from bookies and from the broker, against the official client's Reader loop.
- ranges: 1 % of the time of a topic with 200 ledgers, against the whole topic. The same range of a topic with 2000
  ledgers is measured too.
- isolation: the broker's CPU and a tailing consumer's latency during a read of history.
- memory: peak memory of a reading process, with 1 to 100 ledgers in one split.

Competitors take turns, in processes of their own; the result file holds medians. The machine has one clock, and all
servers load the same cores: read the ratios.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from run_report import arguments, new_report, write_report
from segment_cluster import Servers, cluster
from segment_isolation import measure_isolation
from segment_memory import measure_memory
from segment_ranges import ENTRIES_PER_LEDGER, measure_ranges
from segment_speed import measure_speed

_LARGE_LEDGERS = 50_000  # Pulsar's default


def main() -> None:
    given = _arguments()
    only = given.only.split(",")
    report = new_report(__file__)
    large: dict[str, Callable[[Servers], Any]] = {
        "speed": lambda servers: measure_speed(servers, given.rows, given.single_rows, given.repeat),
        "isolation": lambda servers: measure_isolation(servers, given.rows, given.seconds, given.repeat),
    }
    small: dict[str, Callable[[Servers], Any]] = {
        "ranges": lambda servers: measure_ranges(servers, given.ledgers, given.repeat),
        "memory": lambda servers: measure_memory(servers, given.repeat),
    }
    for sections, entries_per_ledger in ((large, _LARGE_LEDGERS), (small, ENTRIES_PER_LEDGER)):
        if any(name in only for name in sections):
            with (
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
                cluster(Path(scratch), entries_per_ledger) as servers,
            ):
                for name, measure in sections.items():
                    if name in only:
                        report[name] = measure(servers)
                        write_report(report, given.result)


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "speed,isolation,ranges,memory", "segments.json")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of a batched topic")
    parser.add_argument("--single-rows", type=int, default=200_000, help="of an unbatched topic")
    parser.add_argument("--ledgers", type=int, default=200, help="of the smaller topic of ranges")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each phase of isolation")
    return parser.parse_args()


if __name__ == "__main__":
    main()
