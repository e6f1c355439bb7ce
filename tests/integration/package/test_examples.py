"""The programs of the documentation and the demo, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pulsar as official
import pytest
from fixtures.fix_spark import ReadTopic
from integration.official import open_client

from pyspark_pulsar.tools.standalone import LocalPulsar

EXAMPLES = Path(__file__).parents[3] / "examples"
TEXT = ["the quick brown fox", "The lazy dog", "", "fox and dog: DOG!", "grüße, Ärger 42"]
EXPECTED = Counter(
    ["the", "quick", "brown", "fox", "the", "lazy", "dog", "fox", "and", "dog", "dog", "grüße", "ärger", "42"]
)
START_MS = 1_700_000_000_000


def run(program: str, *arguments: object, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / program, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.lstrip().startswith("at ")]
    assert done.returncode == 0, "\n".join([done.stdout[-2000:], *said[-60:]])
    return done.stdout


@pytest.fixture
def lines(pulsar: LocalPulsar, topic: str) -> str:
    """A topic with TEXT in windows 7 s apart, and a last line a minute later that closes the windows."""
    client = open_client(pulsar.service_url)
    producer = client.create_producer(topic, schema=official.schema.StringSchema())
    for number, line in enumerate([*TEXT, " "]):
        gap = 60_000 if line == " " else 0
        producer.send(line, event_timestamp=START_MS + 7_000 * number + gap)
    client.close()
    return topic


def test_word_count_stream(pulsar: LocalPulsar, lines: str, read_topic: ReadTopic, tmp_path: Path) -> None:
    result = f"{lines}-counts"
    run("word_count_stream.py", pulsar.service_url, lines, result, "--available-now", cwd=tmp_path)
    rows = (
        read_topic(result).selectExpr("cast(__key as string) as key", "word", "window_start", "cnt").collect()
    )
    assert sum((Counter({row.word: row.cnt}) for row in rows), Counter()) == EXPECTED
    assert all(row.key == row.word for row in rows)
    assert len({(row.word, row.window_start) for row in rows}) == len(rows)
    assert len({row.window_start for row in rows}) == len([line for line in TEXT if line])


def test_pulsar_alone(pulsar: LocalPulsar, lines: str, read_topic: ReadTopic, tmp_path: Path) -> None:
    """Twice, and nothing is left on the machine that a second one would need."""
    result = f"{lines}-alone"
    checkpoint = f"pulsar+checkpoint://public/default/{lines.rpartition('/')[2]}"
    for _ in range(2):
        where = (pulsar.service_url, lines, result, "--checkpoint", checkpoint)
        run("pulsar_alone.py", *where, "--available-now", cwd=tmp_path)
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    rows = read_topic(result).selectExpr("word", "window_start", "cnt").collect()
    assert sum((Counter({row.word: row.cnt}) for row in rows), Counter()) == EXPECTED
    assert len({(row.word, row.window_start) for row in rows}) == len(rows)


def test_word_count_sql(pulsar: LocalPulsar, lines: str, read_topic: ReadTopic, tmp_path: Path) -> None:
    result = f"{lines}-wc"
    run("word_count_sql.py", pulsar.service_url, lines, result, "--available-now", cwd=tmp_path)
    frame = read_topic(result)
    assert frame.columns[:2] == ["word", "cnt"]
    assert sum((Counter({row.word: row.cnt}) for row in frame.collect()), Counter()) == EXPECTED
    client = open_client(pulsar.service_url)
    first = client.create_reader(result, official.MessageId.earliest).read_next(60_000).data()
    client.close()
    assert first.startswith(b'{"word":"')


def test_word_count_catalog(pulsar: LocalPulsar, lines: str, read_topic: ReadTopic, tmp_path: Path) -> None:
    """Tables and SQL alone: once over history by INSERT INTO, once as a stream with a watermark."""
    name = lines.rpartition("/")[2]
    where = (pulsar.service_url, pulsar.admin_url, name)
    run("word_count_catalog.py", *where, f"{name}-past", cwd=tmp_path)
    run("word_count_catalog.py", *where, f"{name}-live", "--stream", "--available-now", cwd=tmp_path)
    for result in (f"{lines}-past", f"{lines}-live"):
        frame = read_topic(result).selectExpr("*", "cast(__key as string) AS key")
        rows = frame.collect()
        assert sum((Counter({row.word: row.cnt}) for row in rows), Counter()) == EXPECTED
        assert all(row.key == row.word for row in rows)
        assert len({(row.word, row.window_start) for row in rows}) == len(rows)


def test_word_count_batch(pulsar: LocalPulsar, lines: str, read_topic: ReadTopic, tmp_path: Path) -> None:
    result = f"{lines}-totals"
    run("word_count_batch.py", pulsar.service_url, lines, result, cwd=tmp_path)
    rows = read_topic(result).collect()
    assert Counter({row.word: row.cnt for row in rows}) == EXPECTED
    assert len(rows) == len(EXPECTED)


def test_past_now_future(tmp_path: Path) -> None:
    """Starts a server of its own."""
    said = run("past_now_future.py", cwd=tmp_path)
    assert said.strip().splitlines()[-1].endswith(" orders, all agree")


def test_demo(tmp_path: Path) -> None:
    """Starts a server of its own, as `make demo` does."""
    last = run("demo.py", "--seconds", "8", cwd=tmp_path).strip().splitlines()[-1]
    assert last.startswith("demo: ")
    assert last.endswith(" windows, counts equal")
