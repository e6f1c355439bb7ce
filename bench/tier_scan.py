"""A topic's history as columns in SQL: gains of Spark's own scan of the table, and costs of planning it.

    make bench        (or: python bench/tier_scan.py --rows 10000000 --repeat 3)

- tiering: the CPU of the tiering process for a row, and the size of the files beside LZ4 ledgers.
- speed: one topic in 4 partitions, 10 value columns, Avro, LZ4, entries of 1000 rows. All of it is in closed ledgers
  and tiered. Queries of one and of six of the 10 columns, and of a tenth of the rows. The tenth is selected by event
  time, by a value that grows with it, and by a random value. The competitors
  read from bookies; by the data source from the table; by the catalog with Spark's scan; and the Parquet files alone.
- planning: a query without rows, of a table with few files and of a table with 10,000 files. For the large table, the
  first query, the first query after a commit, and the next query count. Each session has planned other queries before.

The competitors of `speed` take turns in one Spark session, in a process of its own; the first round is not counted. The
result file holds medians. Times are of whole queries. The servers share the cores: read the ratios.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from competitor import Competitor, Measures, medians
from run_report import arguments, new_report, write_report
from stream_server import StreamServer, stream_server
from tier_table import TieredTopic, add_files, make_topic

BOOKIES, SOURCE, SQL, PARQUET = "bookies", "data source, columns", "SQL, columns", "Parquet files"
_GOALS = {
    "1 of 10 columns": 3.0,
    "6 of 10 columns": 2.0,
    "a tenth, by event time": 5.0,
    "a tenth, by id": 5.0,
}
_OF_PARQUET = 1.2
_PLANNING_CPU_SECONDS = 2.0
_TIERING_CPU_MICROSECONDS = 3.0
_OF_LEDGERS = 0.6
_FEW, _FIRST, _NEW, _KNOWN = "few files", "many, first query", "many, after a commit", "many, once more"
_WARM_UPS = 3
_READER = (sys.executable, str(Path(__file__).parent / "tier_reader.py"))


def main() -> None:
    given = _arguments()
    report = new_report(__file__)
    measures = {"speed": _measure_speed, "planning": _measure_planning}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        stream_server(Path(scratch) / "pulsar") as server,
    ):
        for section in given.only.split(","):
            report[section] = measures[section](server, Path(scratch), given)
            write_report(report, given.result)


def _measure_speed(server: StreamServer, scratch: Path, given: argparse.Namespace) -> dict[str, Any]:
    topic = make_topic(server, scratch / "tables", "speed", given.rows)
    whole = {"rows": given.rows, "files": topic.files, "table_bytes": topic.table_bytes}
    whole |= {"ledger_bytes": topic.ledger_bytes, "tiering": _tiering(topic, given.rows)}
    return whole | {"queries": _runs(topic, given.rows, given.repeat)}


def _tiering(topic: TieredTopic, rows: int) -> list[dict[str, Any]]:
    microseconds = topic.tiering_cpu_seconds / rows * 1e6
    share = topic.table_bytes / topic.ledger_bytes
    print(f"tiering {microseconds:.2f} us CPU a row, {share:.0%} of the ledgers' bytes", flush=True)
    measured = {
        "CPU microseconds a row": (_TIERING_CPU_MICROSECONDS, round(microseconds, 3)),
        "share of the bytes of the ledgers": (_OF_LEDGERS, round(share, 3)),
    }
    return [
        {"what": what, "goal": goal, "got": got, "met": got <= goal} for what, (goal, got) in measured.items()
    ]


def _runs(topic: TieredTopic, rows: int, repeat: int) -> dict[str, Any]:
    queries = ("1 of 10 columns", "6 of 10 columns")
    queries += ("a tenth, by event time", "a tenth, by id", "a tenth, by a random value")
    competitors = (BOOKIES, SOURCE, SQL, PARQUET)
    runs: dict[tuple[str, str], list[Measures]] = {
        (query, who): [] for query in queries for who in competitors
    }
    with Competitor(_READER) as reader:
        for number in range(repeat + 1):
            for (query, who), measured in runs.items():
                took = reader.run(topic.job | {"query": query, "who": who, "rows": rows})
                if number:
                    measured.append(took)
    return {
        query: _with_goals(query, {who: medians(runs[query, who]) for who in competitors})
        for query in queries
    }


def _with_goals(query: str, took: dict[str, Measures]) -> dict[str, Any]:
    answers = {round(measures.pop("answer"), 3) for measures in took.values()}
    assert len(answers) == 1, (query, answers)
    of_bookies = took[BOOKIES]["seconds"] / took[SQL]["seconds"]
    of_parquet = took[SQL]["seconds"] / took[PARQUET]["seconds"]
    goals = [{"what": "seconds of Spark's own Parquet", "goal": _OF_PARQUET, "got": round(of_parquet, 2)}]
    goals[0]["met"] = of_parquet <= _OF_PARQUET
    if query in _GOALS:
        met = of_bookies >= _GOALS[query]
        goals.append(
            {
                "what": "times as fast as bookies",
                "goal": _GOALS[query],
                "got": round(of_bookies, 2),
                "met": met,
            }
        )
    for who, measures in took.items():
        print(f"{query:28} {who:22} {measures['seconds']:7.3f} s {measures['cpu']:7.2f} CPU s", flush=True)
    return {"measures": _rounded(took), "goals": goals}


def _measure_planning(server: StreamServer, scratch: Path, given: argparse.Namespace) -> dict[str, Any]:
    few, topic = (make_topic(server, scratch / "tables", name, 4000) for name in ("few", "planning"))
    add_files(topic, given.files)
    runs: dict[str, list[Measures]] = {_FEW: [], _FIRST: [], _NEW: [], _KNOWN: []}
    files = given.files
    for _ in range(given.repeat):
        with Competitor(_READER) as reader:
            for _ in range(_WARM_UPS):
                reader.run(_no_rows(few))
            for state, measured in runs.items():
                if state == _NEW:
                    files += 1
                    add_files(topic, files)
                measured.append(reader.run(_no_rows(few if state == _FEW else topic)))
    told = {state: medians(measured) for state, measured in runs.items()}
    for state, measures in told.items():
        print(f"{state:22} {measures['seconds']:7.3f} s {measures['cpu']:7.2f} CPU s", flush=True)
    cpu = round(told[_FIRST]["cpu"] - told[_FEW]["cpu"], 3)
    return {
        "files": given.files,
        "measures": _rounded(told),
        "goals": [
            {
                "what": "CPU seconds that the files add to the first query",
                "goal": _PLANNING_CPU_SECONDS,
                "got": cpu,
                "met": cpu <= _PLANNING_CPU_SECONDS,
            }
        ],
    }


def _no_rows(topic: TieredTopic) -> dict[str, Any]:
    return topic.job | {"query": "no rows", "who": SQL, "rows": 0}


def _rounded(took: dict[str, Measures]) -> dict[str, Measures]:
    return {
        who: {name: round(value, 3) for name, value in measures.items()} for who, measures in took.items()
    }


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, "speed,planning", "tier_scan.json")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=10_000, help="of the table of planning")
    return parser.parse_args()


if __name__ == "__main__":
    main()
