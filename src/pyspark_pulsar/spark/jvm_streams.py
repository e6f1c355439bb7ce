"""The standard streams of a Python process that the JVM starts and talks to."""

from __future__ import annotations

import os
import signal
import sys


def take_standard_streams() -> tuple[int, int]:
    """File descriptors: one for answers, one for requests, which ends when the JVM does. From here on whatever prints
    to standard output prints to standard error instead, and standard input is empty. Ctrl-C at a terminal is meant for
    Spark's shell, which goes on, so it does not reach this process."""
    answers, requests = os.dup(sys.stdout.fileno()), os.dup(sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor, no path
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return answers, requests
