"""`python -m pyspark_pulsar.catalog`, which the JVM starts: requests come over standard input."""

from __future__ import annotations

import contextlib

from pyspark_pulsar.catalog.service import lines, sender, serve
from pyspark_pulsar.spark.jvm_streams import take_standard_streams
from pyspark_pulsar.spark.logging import show_warnings
from pyspark_pulsar.spark.python_path import add_pyspark


def main() -> None:
    """Ends with its standard input, whose other end the JVM holds."""
    answers, requests = take_standard_streams()
    show_warnings()
    add_pyspark()
    with contextlib.suppress(BrokenPipeError):
        serve(lines(requests), sender(answers))


if __name__ == "__main__":
    main()
