"""`python -m pyspark_pulsar.catalog`, which the JVM starts: requests come over standard input."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from pyspark_pulsar.catalog.service import lines, sender, serve
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.python_path import add_pyspark


def main() -> None:
    """Ends with its standard input, whose other end the JVM holds. Nothing but answers reaches standard output."""
    answers, questions = os.dup(sys.stdout.fileno()), os.dup(sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor, no path
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    # Ctrl-C at a terminal is meant for the shell, which goes on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    show_warnings()
    add_pyspark()
    with contextlib.suppress(BrokenPipeError):
        serve(lines(questions), sender(answers))


if __name__ == "__main__":
    main()
