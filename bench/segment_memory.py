"""Resident memory of a process that reads 1, 10 and 100 ledgers in one split: constant, for all locations."""

import json
from typing import Any

from competitor import Competitor
from segment_cluster import Servers, closed_ledgers, fill_ledgers, payloads
from segment_ranges import ENTRIES_PER_LEDGER

_ROWS_PER_ENTRY = 1000
_NUMBERS = (1, 10, 100)
_GOAL_MEBIBYTES = 256
_ONE_SPLIT = 1 << 40


def measure_memory(servers: Servers, repeat: int) -> dict[str, Any]:
    """Measure with messages of 1 KiB in entries of 1000 messages: 100 ledgers are 2.4 GiB."""
    servers.admin.create_namespace("public/memory", 2, 2)
    topic = "persistent://public/memory/t"
    fill_ledgers(
        servers,
        topic,
        ledgers=max(_NUMBERS) + 1,
        entries=ENTRIES_PER_LEDGER,
        rows=_ROWS_PER_ENTRY,
        seconds=0.0,
        values=payloads(5000, 1024),
    )
    ids = [int(each["ledgerId"]) for each in closed_ledgers(servers, topic)]
    measures = {
        read_from: {number: _peak(servers, topic, ids, number, read_from, repeat) for number in _NUMBERS}
        for read_from in ("bookie", "broker")
    }
    goals = []
    for read_from, peaks in measures.items():
        growth = round(peaks[max(_NUMBERS)] - peaks[1], 1)
        print(f"peak of a reader, {read_from:7} {peaks} MiB", flush=True)
        goals.append(
            {
                "what": f"MiB more for {max(_NUMBERS)} ledgers than for 1, from {read_from}",
                "goal": _GOAL_MEBIBYTES,
                "got": growth,
                "met": growth <= _GOAL_MEBIBYTES,
            }
        )
    return {"peak_mebibytes_by_ledgers": measures, "goals": goals}


def _peak(servers: Servers, topic: str, ids: list[int], number: int, read_from: str, repeat: int) -> float:
    """Return the highest peak of several new processes."""
    start, end = (json.dumps({topic: f"{ids[index]}:0"}) for index in (0, number))
    job = servers.read_job(
        topic,
        read_from,
        starting_offsets=start,
        ending_offsets=end,
        max_bytes_per_partition=_ONE_SPLIT,
    )
    peaks = []
    for _ in range(repeat):
        with Competitor() as reader:
            took = reader.run(job | {"do": "arrow"})
        assert took["rows"] == number * ENTRIES_PER_LEDGER * _ROWS_PER_ENTRY, took
        peaks.append(took["resident_peak"])
    return round(max(peaks), 1)
