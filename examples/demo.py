"""`make demo`: a live word count on a real Pulsar, checked against an independent count of the same input.

The demo starts a local Pulsar, and sends real text to it continuously. The text is the license and notice files of
Pulsar's distribution, and then the server's own live log. Spark counts words in 5-second windows, and writes the counts
to a topic. The demo shows the counts as they arrive, reads the topic back as a batch, and compares the total of every
word. If a total differs, the demo prints the differences, and exits with 1.
"""

import argparse
import os
import queue
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

import pulsar
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.streaming import StreamingQuery
from word_count_stream import to_topic, windowed_counts

from pyspark_pulsar.tools.standalone import LocalPulsar

LINES_TOPIC = "persistent://public/default/lines"
COUNTS_TOPIC = "persistent://public/default/word-counts"
_WORD = re.compile(r"[^\W_]+")
_ROWS_SHOWN = 8
_DEADLINE_SECONDS = 120.0


class Feeder(threading.Thread):
    """A thread that sends lines with the official Python client, and counts their words independently of Spark."""

    def __init__(self, server: LocalPulsar, seconds: float) -> None:
        super().__init__(name="feeder")
        self._server = server
        self._seconds = seconds
        self.lines = 0
        self.words: Counter[str] = Counter()
        self.failures: queue.Queue[str] = queue.Queue()

    def run(self) -> None:
        client = pulsar.Client(
            self._server.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        )
        producer = client.create_producer(LINES_TOPIC, schema=pulsar.schema.StringSchema())
        for line in self._text():
            self.lines += 1
            self.words.update(_WORD.findall(line.lower()))
            producer.send_async(line, self._sent, event_timestamp=_now_ms())
        producer.flush()
        # A line without words, one minute in the future, moves the watermark, and so closes the last windows.
        producer.send(" ", event_timestamp=_now_ms() + 60_000)
        client.close()

    def _text(self) -> Iterator[str]:
        """Yield the distribution's texts, a few lines at a time, and the lines that the server logs."""
        texts = [self._server.home / name for name in ("LICENSE", "NOTICE", "README")]
        texts_left = iter([line for path in texts for line in path.read_text(errors="replace").splitlines()])
        deadline = time.monotonic() + self._seconds
        with self._server.log_file.open(errors="replace") as log:
            while time.monotonic() < deadline:
                for _, line in zip(range(40), texts_left, strict=False):
                    yield line
                for line in log.read().splitlines():
                    yield line
                time.sleep(0.25)

    def _sent(self, result: pulsar.Result, _message_id: object) -> None:
        if result != pulsar.Result.Ok:
            self.failures.put(str(result))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--seconds", type=float, default=30.0, help="duration in which text arrives")
    seconds = arguments.parse_args().seconds
    with tempfile.TemporaryDirectory() as scratch, LocalPulsar(data=Path(scratch) / "pulsar") as server:
        print(f"demo: Pulsar runs at {server.service_url}", flush=True)
        return run(server, seconds, str(Path(scratch) / "checkpoint"))


def run(server: LocalPulsar, seconds: float, checkpoint: str) -> int:
    spark = (
        SparkSession.builder.appName("pyspark-pulsar demo")
        .master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    feeder = Feeder(server, seconds)
    feeder.start()
    while feeder.lines == 0 and feeder.is_alive():
        time.sleep(0.05)
    lines = (
        spark.readStream.format("pulsar")
        .option("service.url", server.service_url)
        .option("topic", LINES_TOPIC)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = to_topic(windowed_counts(lines), server.service_url, COUNTS_TOPIC, checkpoint).start()
    show_until_closed(spark, server, feeder, query)
    verdict = compare(spark, server, feeder)
    query.stop()
    spark.stop()
    return verdict


def counts_so_far(spark: SparkSession, server: LocalPulsar) -> DataFrame | None:
    """Return the result topic as a batch, or None if the topic or its schema does not exist yet."""
    try:
        counts = (
            spark.read.format("pulsar")
            .option("service.url", server.service_url)
            .option("topic", COUNTS_TOPIC)
            .load()
        )
    except Exception as fault:
        if "does not exist" in str(fault):
            return None
        raise
    return counts if "cnt" in counts.columns else None


def show_until_closed(
    spark: SparkSession, server: LocalPulsar, feeder: Feeder, query: StreamingQuery
) -> None:
    """Print the newest counts while the stream runs, until all words are counted or the deadline passes."""
    shown = 0
    fed = None
    while query.isActive:
        counts = counts_so_far(spark, server)
        rows = counts.count() if counts is not None else 0
        if counts is not None and rows > shown:
            newest = counts.agg(F.max("window_start")).first()[0]
            print(f"demo: {rows} counts so far; the window from {newest}:", flush=True)
            top = counts.where(F.col("window_start") == newest).orderBy(F.desc("cnt"), "word")
            top.select("word", "cnt").show(_ROWS_SHOWN, truncate=30)
            shown = rows
        if not feeder.is_alive():
            fed = fed or time.monotonic()
            total = counts.agg(F.sum("cnt")).first()[0] if counts is not None else 0
            if (total or 0) >= feeder.words.total() or time.monotonic() - fed > _DEADLINE_SECONDS:
                return
        time.sleep(1.0)
    if query.exception() is not None:
        raise query.exception()


def compare(spark: SparkSession, server: LocalPulsar, feeder: Feeder) -> int:
    """Return 0 if Spark's total of every word is equal to the feeder's; print all differences."""
    feeder.join()
    counts = counts_so_far(spark, server)
    if counts is None:
        print("demo: no counts arrived")
        return 1
    totals = {
        row.word: row.total for row in counts.groupBy("word").agg(F.sum("cnt").alias("total")).collect()
    }
    windows = counts.select("window_start").distinct().count()
    if not feeder.failures.empty():
        print(f"demo: {feeder.failures.qsize()} lines were not stored: {feeder.failures.get()}")
        return 1
    differing = {
        word: (feeder.words[word], totals.get(word, 0))
        for word in feeder.words.keys() | totals.keys()
        if feeder.words[word] != totals.get(word, 0)
    }
    if differing:
        for word, (expected, found) in sorted(differing.items())[:50]:
            print(f"demo: {word!r}: expected {expected}, got {found}")
        print(
            f"demo: {feeder.lines} lines, {len(totals)} words, {windows} windows, {len(differing)} words DIFFER"
        )
        return 1
    print(f"demo: {feeder.lines} lines, {len(totals)} words, {windows} windows, counts equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
