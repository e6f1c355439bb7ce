"""Time the parts of `make test`: run one part, or show the seconds of all parts that ran.

`test_times.py run NAME COMMAND...` runs the command, and stores its seconds and its result in `.venv/test-times/NAME`.
`test_times.py show` prints the stored results as a table with the slowest part first, and how to repeat failed tests.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

NOTES: Final = Path(".venv/test-times")
_REPEAT: Final = re.compile(r"^make test-one TEST=.*$", re.MULTILINE)
_COUNTS: Final = re.compile(r"(\d+) (passed|failed|error)")


def run(name: str, command: list[str]) -> int:
    """Run the command, show its output, and store the seconds and the result.

    Returns:
        The exit code of the command.

    """
    started, lines = time.monotonic(), []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    text = "".join(lines)
    counts = {"passed": 0, "failed": 0}
    # Programs that run tests print such lines too. The line of the test runner is the last one.
    for count, kind in _COUNTS.findall(next((line for line in reversed(lines) if _COUNTS.search(line)), "")):
        counts["passed" if kind == "passed" else "failed"] += int(count)
    NOTES.mkdir(parents=True, exist_ok=True)
    note = {
        "seconds": round(time.monotonic() - started, 1),
        "status": process.returncode,
        **counts,
        "repeat": _REPEAT.findall(text),
    }
    (NOTES / name).write_text(json.dumps(note))
    return process.returncode


def show() -> None:
    """Print a table of the parts, and a line for each test that failed."""
    notes = {path.name: json.loads(path.read_text()) for path in NOTES.glob("*")}
    width = max(map(len, notes), default=0)
    print(f"\n{'part':<{width}}  seconds  tests")
    for name, note in sorted(notes.items(), key=lambda each: -each[1]["seconds"]):
        ended = (
            "" if note["status"] == 0 else f"  FAILED ({note['failed']} tests, exit code {note['status']})"
        )
        print(f"{name:<{width}}  {note['seconds']:7.0f}  {note['passed'] or '':>5}{ended}")
    repeats = [line for note in notes.values() for line in note["repeat"]]
    if repeats:
        print("\nto repeat a failure:", *repeats, sep="\n  ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="action", required=True)
    running = commands.add_parser("run")
    running.add_argument("name")
    running.add_argument("command", nargs=argparse.REMAINDER)
    commands.add_parser("forget")
    commands.add_parser("show")
    arguments = parser.parse_args()
    if arguments.action == "run":
        return run(arguments.name, arguments.command)
    if arguments.action == "forget":
        shutil.rmtree(NOTES, ignore_errors=True)
    else:
        show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
