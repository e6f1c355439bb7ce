"""Tables, JSON and picture of a topic's ledgers: every ledger is shown, with its numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st
from property.ledger_strategies import topic_ledgers

from pyspark_pulsar.client.ledger import Ensemble, Ledger, LedgerMetadata
from pyspark_pulsar.inspect.segments import CLOSED, COMPACTED, OPEN, Segment, Survey
from pyspark_pulsar.inspect.table_parts import TablePart
from pyspark_pulsar.model.position import Position
from pyspark_pulsar.model.topic import TopicPartition
from pyspark_pulsar.tools.cli.commands.segments import json_lines, print_survey
from pyspark_pulsar.tools.cli.html.page import segments_page
from pyspark_pulsar.tools.cli.html.picture import picture, tip
from pyspark_pulsar.tools.cli.html.timeline import Timeline
from pyspark_pulsar.tools.cli.output.text import human_bytes, ranges

NOW = 1_795_267_000_000
HOUR = 3_600_000
ZERO, ONE = (TopicPartition.parse(f"persistent://public/default/t-partition-{number}") for number in (0, 1))
ON_THREE = LedgerMetadata(2, "CRC32C", (Ensemble(0, ("b1:1", "b2:2")), Ensemble(50, ("b2:2", "b3:3"))))
SURVEY = Survey(
    (
        Segment(
            ZERO, Ledger(3, 100, 5_000, None, NOW - 9 * HOUR, "id"), CLOSED, "s3://b/id-ledger-3", "tiered"
        ),
        Segment(
            ZERO,
            Ledger(7, 200, 3 << 20, NOW - 9 * HOUR, NOW - HOUR, metadata=ON_THREE),
            CLOSED,
            None,
            "bookie",
        ),
        Segment(ZERO, Ledger(12, 5, 600, NOW - HOUR, None, metadata=ON_THREE), OPEN, None, "broker"),
        Segment(ZERO, Ledger(20, 9, 90, None, 0), COMPACTED, skipped="read with readCompacted=true only"),
        Segment(
            ONE, Ledger(4, 10, 1_000, None, NOW - 2 * HOUR), CLOSED, skipped="closed before startingTimestamp"
        ),
        Segment(ONE, Ledger(13, 0, 0, NOW - 2 * HOUR, None), OPEN, skipped="empty"),
    )
)


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_survey(SURVEY)
    lines = capsys.readouterr().out.splitlines()
    assert "persistent://public/default/t-partition-0: 3 ledgers, 305 entries, 3.0 MiB" in lines[0]
    rows = {line.split()[0]: re.split(r"  +", line.strip()) for line in lines if line[:8].strip().isdigit()}
    assert rows["3"] == [
        "3",
        "closed",
        "100",
        "4.9 KiB",
        "2026-11-21 04:16:40",
        "s3://b/id-ledger-3",
        "tiered",
    ]
    assert rows["7"][1:] == [
        "closed", "200", "3.0 MiB", "2026-11-21 04:16:40", "2026-11-21 12:16:40", "bookies b1:1 b2:2 b3:3", "bookie",
    ]  # fmt: skip
    assert rows["12"][1] == "open"
    assert rows["12"][-1] == "broker"
    assert rows["4"][-1] == "closed before startingTimestamp"
    assert rows["20"][1] == "compacted"
    assert len(rows) == len(SURVEY.segments)


def test_json() -> None:
    rows = [json.loads(line) for line in json_lines(SURVEY)]
    assert rows[1] == {
        "topic": "persistent://public/default/t",
        "partition": 0,
        "ledger": 7,
        "state": "closed",
        "entries": 200,
        "rows": None,
        "bytes": 3 << 20,
        "opened": "2026-11-21T04:16:40+00:00",
        "closed": "2026-11-21T12:16:40+00:00",
        "location": "bookie",
        "bookies": ["b1:1", "b2:2", "b3:3"],
        "copy": None,
        "reader": "bookie",
        "skipped": None,
        "fault": None,
    }
    assert [(row["ledger"], row["location"], row["opened"]) for row in rows if row["partition"] == 0] == [
        (3, "tiered", None),
        (7, "bookie", "2026-11-21T04:16:40+00:00"),
        (12, "bookie", "2026-11-21T12:16:40+00:00"),
        (20, "compacted", None),
    ]


def parsed(page: str) -> ET.Element:
    """A page is also XML, but for its first line."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def drawn(page: str) -> list[tuple[str, str]]:
    groups = [each for each in parsed(page).iter() if (each.get("class") or "").split()[:1] == ["ledger"]]
    return [(each.get("data-ledger") or "", each.get("class") or "") for each in groups]


def test_page() -> None:
    page = segments_page(SURVEY, NOW)
    assert [number for number, _ in drawn(page)] == ["3", "7", "12", "20", "4", "13"]
    pale = [number for number, kind in drawn(page) if "unread" in kind]
    assert pale == ["20", "4"]
    tips = [each.get("data-tip") or "" for each in parsed(page).iter() if each.get("data-tip")]
    assert tips == [tip(segment) for segment in SURVEY.segments]
    assert "ledger 7 (closed)\n200 entries, 3.0 MiB\nopened 2026-11-21 04:16:40" in tips[1]
    assert page.count('class="open"') == 3  # two open ledgers, and the legend


def test_nothing_is_fetched_from_elsewhere() -> None:
    page = segments_page(SURVEY, NOW)
    assert not re.findall(r"""(?:src|href|@import|url\()\s*=?\s*["']?(?!#)\w""", page)
    without_names = page.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in without_names


def test_the_name_of_the_topic_stays_text() -> None:
    nasty = TopicPartition.parse(
        "persistent://public/default/<script>alert('&')</script>x".replace("/script", "script")
    )
    found = Survey((Segment(nasty, Ledger(1, 1, 1, None, None), OPEN, reader="broker"),), fault="<b>no</b>")
    page = segments_page(found, NOW)
    assert drawn(page) == [("1", "ledger")]
    assert "<script>alert" not in page
    assert "<b>no</b>" not in page


@given(st.lists(topic_ledgers(), min_size=1, max_size=3))
def test_every_ledger_is_drawn_inside_the_picture(topics: list[tuple[Ledger, ...]]) -> None:
    found = tuple(
        Segment(
            TopicPartition(ZERO.topic, number), ledger, OPEN if ledger.is_open else CLOSED, reader="broker"
        )
        for number, ledgers in enumerate(topics)
        for ledger in ledgers
    )
    page = segments_page(Survey(found), 9_000)
    assert [int(number) for number, _ in drawn(page)] == [each.ledger.id for each in found]
    svg = ET.fromstring(picture(Survey(found), 9_000))
    width = float(svg.get("width") or 0)
    names = {"bookie", "tiered"}
    rects = [
        (each, (each.get("class") or "").split())
        for each in svg.iter()
        if each.tag.endswith("rect") and names & set((each.get("class") or "").split())
    ]
    bars = [each for each, _ in rects]
    assert len([kinds for _, kinds in rects if "size" not in kinds]) == len(found)
    sizes = [(each, kinds) for each, kinds in rects if "size" in kinds]
    written = [each.ledger.size for each in found if each.ledger.size]
    assert len(sizes) == len(written)
    assert len([each for each in svg.iter() if each.get("class") == "empty"]) == len(found) - len(written)
    line = max(1020, 14 * max(len(ledgers) for ledgers in topics))
    scale = max(sum(each.size for each in ledgers) for ledgers in topics) / line
    for (bar, kinds), size in zip(sizes, written, strict=True):
        if "least" not in kinds:
            assert float(bar.get("width") or 0) == pytest.approx(size / scale, abs=0.06)
    for bar in bars:
        x, wide = float(bar.get("x") or 0), float(bar.get("width") or 0)
        assert wide > 0
        assert 0 <= x <= x + wide <= width


def test_times_are_inside_the_picture_and_each_is_shown_once() -> None:
    lone = Survey((Segment(ZERO, Ledger(7, 2, 132, None, None), OPEN, reader="broker"),))
    for survey in (SURVEY, lone):
        labels = [each for each in ET.fromstring(picture(survey, NOW)).iter() if each.get("class") == "time"]
        for label in labels:
            x = float(label.get("x") or 0)
            assert label.get("text-anchor") == "start" or x > 62
        texts = [label.text for label in labels]
        assert len(texts) == len(set(texts))
    assert len(texts) == 1
    assert "ledger in 1 topic partition<" in segments_page(lone, NOW)


TABLE_PARTS = (
    TablePart(
        ZERO, "t_n.t", Position(12, 0), 4, 123_456, 5 << 20, (NOW - 90 * HOUR, NOW - 2 * HOUR), is_read=True
    ),
    TablePart(
        ONE,
        "t_n.t",
        Position(4, 10),
        1,
        7,
        900,
        None,
        is_read=False,
        skipped="outside of the requested range",
    ),
)
WITH_TABLES = replace(SURVEY, tables=TABLE_PARTS)


def test_what_a_table_holds(capsys: pytest.CaptureFixture[str]) -> None:
    print_survey(WITH_TABLES)
    shown = capsys.readouterr().out
    assert "t-partition-0: 3 ledgers, 305 entries, 3.0 MiB; table: 123,456 rows, 5.0 MiB" in shown
    assert "table t_n.t, 4 files, up to 12:0:0" in shown
    rows = [json.loads(line) for line in json_lines(WITH_TABLES)][-2:]
    assert rows[0] | {"topic": ""} == {
        "topic": "", "partition": 0, "ledger": None, "state": "columns", "entries": None, "rows": 123_456,
        "bytes": 5 << 20, "opened": "2026-11-17T19:16:40+00:00", "closed": "2026-11-21T11:16:40+00:00",
        "location": "columns", "bookies": [], "copy": "t_n.t", "reader": "columns", "skipped": None, "fault": None,
    }  # fmt: skip
    assert (rows[1]["opened"], rows[1]["reader"]) == (None, None)
    assert rows[1]["skipped"] == "outside of the requested range"
    page = segments_page(WITH_TABLES, NOW)
    assert "history as columns, 123,463 rows in 5 files" in page
    tables = [each for each in parsed(page).iter() if each.get("data-table")]
    assert [(each.get("class"), each.get("data-table")) for each in tables] == [
        ("ledger", "t_n.t"),
        ("ledger unread", "t_n.t"),
    ]
    assert (tables[0].get("data-tip") or "").splitlines() == [
        "table t_n.t, 4 files, up to 12:0:0",
        "123,456 rows, 5.0 MiB",
        "published from 2026-11-17 19:16:40 to 2026-11-21 11:16:40",
        "read from columns",
    ]
    width = float(ET.fromstring(picture(WITH_TABLES, NOW)).get("width") or 0)
    for bar in (rect for group in tables for rect in group):
        x, wide = float(bar.get("x") or 0), float(bar.get("width") or 0)
        assert wide > 0
        assert 0 <= x <= x + wide <= width


def test_a_topic_with_nothing_left_but_its_table() -> None:
    alone = Survey((), tables=TABLE_PARTS[:1])
    assert len([each for each in parsed(segments_page(alone, NOW)).iter() if each.get("data-table")]) == 1


def test_no_ledgers_at_all() -> None:
    assert drawn(segments_page(Survey(()), NOW)) == []


@given(st.lists(st.integers(0, 2**42), min_size=1, max_size=50), st.floats(10, 10_000))
def test_time_runs_from_left_to_right(moments: list[int], width: float) -> None:
    line = Timeline.from_moments(moments, width)
    places = [line.place(moment) for moment in sorted(set(moments))]
    assert places == sorted(places)
    assert -1e-6 <= places[0] <= places[-1] <= width + 1e-6
    span = max(moments) - min(moments)
    for moment, place in zip(sorted(set(moments)), places, strict=True):
        assert span == 0 or place == pytest.approx((moment - min(moments)) / span * width)
    ticks = line.ticks(20)
    assert ticks[-1][0] == max(moments)
    assert len({after - before for (before, _), (after, _) in pairwise(ticks[:-1])}) <= 1
    assert all(after - before >= 20 for (_, before), (_, after) in pairwise(ticks))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "?"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1_048_570, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
    ],
)
def test_human_bytes(size: int | None, text: str) -> None:
    assert human_bytes(size) == text


def test_ranges() -> None:
    assert ranges([3, 4, 5, 8, 10, 11]) == "3-5, 8, 10-11"
    assert ranges(list(range(0, 40, 2))) == "0, 2, 4, 6, 8, ..., 38"
    assert ranges([]) == ""


def test_why_a_read_would_fail_is_in_every_row() -> None:
    failing = Survey(
        tuple(replace(each, reader=None) for each in SURVEY.segments), "ledger 7 is not offloaded"
    )
    faults = [json.loads(line)["fault"] for line in json_lines(failing)]
    assert faults == ["ledger 7 is not offloaded"] * len(SURVEY.segments)


def test_an_unknown_closing_time() -> None:
    closed = Segment(ZERO, Ledger(3, 10, 100, None, 0), CLOSED, None, "bookie")
    assert "closed at an unknown time" in tip(closed)
    (row,) = (json.loads(line) for line in json_lines(Survey((closed,))))
    assert (row["state"], row["closed"]) == ("closed", None)
    assert "1970" not in segments_page(Survey((closed,)), NOW)


HOSTILE = "persistent://public/default/<b>\x1b[31m\u202e\n\x7f"


def hostile_survey() -> Survey:
    partition = TopicPartition.parse(HOSTILE)
    return Survey(tuple(replace(each, partition=partition) for each in SURVEY.segments), fault="no\x1b[0m")


def test_no_name_reaches_a_terminal_or_a_page_raw(capsys: pytest.CaptureFixture[str]) -> None:
    survey = hostile_survey()
    print_survey(survey)
    shown = capsys.readouterr().out
    assert r"<b>\x1b[31m\u202e\n\x7f" in shown
    page = segments_page(survey, NOW)
    for text in (shown, page, "\n".join(json_lines(survey))):
        assert all(line.isprintable() for line in text.splitlines())
    assert "<b>\\x1b" not in page
    assert r"&lt;b&gt;\x1b[31m\u202e\n\x7f" in page
    assert {json.loads(line)["topic"] for line in json_lines(survey)} == {HOSTILE}
