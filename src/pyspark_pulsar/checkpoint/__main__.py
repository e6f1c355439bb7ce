"""`python -m pyspark_pulsar.checkpoint`, which the JVM starts: requests come over standard input."""

from __future__ import annotations

import contextlib
import os

from pyspark_pulsar.checkpoint.process.frames import read_frame, sender
from pyspark_pulsar.checkpoint.process.service import serve
from pyspark_pulsar.spark.jvm_streams import take_standard_streams
from pyspark_pulsar.spark.logging import show_warnings


def main() -> None:
    """Ends with its standard input, whose other end the JVM holds."""
    answers, requests = take_standard_streams()
    show_warnings()
    with contextlib.suppress(BrokenPipeError):
        serve(lambda: read_frame(requests), sender(answers))
    # Threads may still wait for brokers that do not answer; nobody waits for them.
    os._exit(0)


if __name__ == "__main__":
    main()
