"""Run the simulation: `python tests/simulation/run.py --seconds 60`.

Two processes run random cases. A case that breaks a promise is made simple, and its history is printed in words.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import secrets
import sys
import time
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simulation.case import Case, Workload
from simulation.search import first_broken, mutated, random_cases, shrunk
from simulation.workloads import WORKLOADS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all workloads together")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; a random one by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--mutations", action="store_true", help="search each mutation for --seconds")
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"all of {', '.join(WORKLOADS)} by default"
    )
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    seed = secrets.randbits(31) if arguments.seed is None else arguments.seed
    print(f"first seed: {seed}")
    workloads = [WORKLOADS[name] for name in arguments.workloads or WORKLOADS]
    seconds = arguments.seconds if arguments.mutations else arguments.seconds / len(workloads)
    results = [
        _search(workload, name, seed, seconds, arguments.workers)
        for workload in workloads
        for name in (workload.mutations if arguments.mutations else [None])
    ]
    return 0 if all(results) else 1


def _search(workload: Workload, name: str | None, seed: int, seconds: float, workers: int) -> bool:
    """Search a case that breaks a promise. Return whether the result is as expected: only mutations break promises."""
    began = time.monotonic()
    context = multiprocessing.get_context("fork")
    found, counter = context.Queue(), context.Value("q", 0)
    over = context.Event()

    def work(index: int) -> None:
        def goes_on() -> bool:
            if over.is_set() or time.monotonic() - began >= seconds:
                return False
            with counter.get_lock():
                counter.value += 1
            return True

        with nullcontext() if name is None else mutated(workload, name):
            broken = first_broken(workload, random_cases(workload, seed + index, workers), goes_on)
        if broken is not None:
            over.set()
            found.put(shrunk(workload, *broken) if name is None else broken[0])

    processes = [context.Process(target=work, args=(index,)) for index in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    broken = None if found.empty() else found.get()
    what = "none" if broken is None else f"seed {broken.seed}"
    title = f"{workload.name}: {name or 'the code as it is'}"
    print(f"{title:60} {counter.value:7} runs {time.monotonic() - began:6.1f} s  {what}", flush=True)
    if name is None and broken is not None:
        _describe(workload, broken)
    return (broken is None) == (name is None)


def _describe(workload: Workload, case: Case) -> None:
    outcome = workload.run(case, keeps_history=True)
    print(f"{case}\n")
    for moment, who, what in outcome.history:
        print(f"{moment:10.3f} s  {who}: {what}")
    for fault in outcome.faults:
        print(f"BROKEN: {fault}")


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
