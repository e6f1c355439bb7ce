"""`python -m pyspark_pulsar.checkpoint`, which the JVM starts: requests come over standard input."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from pyspark_pulsar.checkpoint.process.frames import read_frame, sender
from pyspark_pulsar.checkpoint.process.service import serve
from pyspark_pulsar.spark.logging import show_warnings


def main() -> None:
    """Ends with its standard input, whose other end the JVM holds. Nothing but frames reaches standard output."""
    answers, questions = os.dup(sys.stdout.fileno()), os.dup(sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor, no path
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    # Ctrl-C at a terminal is meant for the shell, which goes on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    show_warnings()
    with contextlib.suppress(BrokenPipeError):
        serve(lambda: read_frame(questions), sender(answers))
    # Threads may still wait for brokers that do not answer; nobody waits for them.
    os._exit(0)


if __name__ == "__main__":
    main()
