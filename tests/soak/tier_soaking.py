"""A soak of two concurrent tiering processes, killed at random while messages arrive: no row is lost or repeated.

Each turn starts two processes that tier the same topic, and sends more messages after a random time. In each turn, one
or both processes are killed by SIGKILL. Every few turns, the table is compared with the topic. At the end, the table is
compared again, after retention has removed all ledgers but the last.

`retries` is a control: pyiceberg retries commits of Iceberg tables, so that two rounds both commit. The comparison must
then find repeated rows.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pulsar as official_client
from integration.official import Admin, open_client
from integration.tier.conftest import ENTRIES, SMALL_LEDGERS, Tier, tables_in

from pyspark_pulsar.tools.standalone import LocalPulsar

_PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "tier_topic.py"
_CHECK_EVERY = 10
_MOST_SECONDS = 4.0
_END_SECONDS = 180.0


@dataclass
class TierReport:
    """The counts of a soak, and its faults."""

    seed: int
    format: str
    kills: int = 0
    turns: int = 0
    messages: int = 0
    rows: int = 0
    files: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def tier_soak(
    folder: Path,
    seed: int,
    kills: int,
    table_format: str,
    say: Callable[[str], None],
    *,
    retries: bool = False,
) -> TierReport:
    """Run the soak up to the first fault, or up to `kills` kills."""
    report, rng, began = TierReport(seed, table_format), random.Random(seed), time.monotonic()
    with LocalPulsar(data=folder / "pulsar", config=SMALL_LEDGERS) as server:
        client = open_client(server.service_url)
        tier = _tier(server, client, folder, table_format)
        command = [
            sys.executable,
            str(_PROGRAM),
            json.dumps(tier.texts()),
            *(["--retries"] if retries else []),
        ]
        while report.kills < kills and not report.faults:
            _send(tier, rng, report)
            processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
            time.sleep(rng.uniform(0.5, _MOST_SECONDS))
            for process in processes[: rng.randrange(1, 3)]:
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
                    report.kills += 1
            _send(tier, rng, report)
            for process in processes:
                process.wait(_END_SECONDS)
            report.turns += 1
            if report.turns % _CHECK_EVERY == 0:
                _check(tier, report)
                say(f"{report.kills} kills, {report.messages} messages, faults {report.faults}")
        tier.roll()
        tier.run()
        tier.trim()
        _check(tier, report)
        report.files = len(tier.table.files())
        client.close()
    report.seconds = round(time.monotonic() - began, 1)
    return report


def _tier(server: LocalPulsar, client: official_client.Client, folder: Path, table_format: str) -> Tier:
    admin, topic = Admin(server.admin_url), "persistent://public/soak/t"
    admin.make_namespace("public/soak")
    admin.keep_for(topic, minutes=-1)
    return Tier(server, client, admin, topic, tables_in(folder, table_format))


def _send(tier: Tier, rng: random.Random, report: TierReport) -> None:
    more = rng.randrange(1, 5 * ENTRIES)
    tier.send(range(report.messages, report.messages + more), batching_enabled=False)
    report.messages += more


def _check(tier: Tier, report: TierReport) -> None:
    """Check that the values are the numbers from 0 in order, each once."""
    numbers = [int(value) for value in tier.rows(columns="value")["value"].to_pylist()]
    report.rows = len(numbers)
    if numbers != list(range(report.messages)):
        repeated = len(numbers) - len(set(numbers))
        lost = len(set(range(report.messages)) - set(numbers))
        report.faults.append(
            f"{report.messages} messages, {len(numbers)} rows: {lost} lost, {repeated} repeated"
            f"{'' if numbers == sorted(numbers) else ', out of order'}"
        )
