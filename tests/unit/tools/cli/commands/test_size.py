"""`pyspark-pulsar size`: its arguments, its output, and its errors."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.tools.cli import cli
from pyspark_pulsar.tools.cli.commands.size import format_quantity
from pyspark_pulsar.tools.sizing.costs import OF_A_TOPIC
from pyspark_pulsar.tools.sizing.own_topic import TopicSample
from pyspark_pulsar.tools.sizing.quantity import quantity

LOAD = ("--topics", "3000", "--messages-a-day", "6G", "--message-bytes", "500")
HISTORY = ("--days", "30", "--in-object-storage", "0.5", "--split-bytes", "1Gi", "--catch-up-hours", "48")


def _size(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["size", *arguments])


def _json(*arguments: str) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    result = _size(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_tables_show_each_figure_with_its_formula() -> None:
    text = _size(*LOAD, *HISTORY, "--trigger-seconds", "60").output
    for title in (
        "The load",
        "In short",
        "A message",
        "The history",
        "Keeping up",
        "The driver and other services",
    ):
        assert title in text
    assert "trigger interval + duration of a micro-batch" in text
    assert "All costs were measured on" in text
    assert "3,000 topics" in text
    assert "decode.AVRO.entry  " not in text


def test_costs_are_shown_with_their_origin() -> None:
    text = _size(*LOAD, "--costs").output
    assert "decode.AVRO.entry  " in text
    assert "bench/results/sizing.json" in text


def test_bytes_a_day_are_bytes_of_all_messages() -> None:
    told = _json("--topics", "3000", "--messages-a-day", "6e9", "--bytes-a-day", "3T")
    assert told["given"]["bytes a message"]["value"] == 500


def test_arguments_take_precedence_over_measurements_of_a_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = TopicSample(1000, 321.0, 77.0, 4e-6, "JSON", 12)
    monkeypatch.setattr("pyspark_pulsar.tools.sizing.own_topic.sample_topic", lambda _: sample)
    told = _json(
        "--topics", "3", "--messages-a-day", "1M", "--columns", "5",
        "--topic", "orders", "--service-url", "pulsar://h.invalid:1",
    )  # fmt: skip
    given = told["given"]
    assert [given[name]["value"] for name in ("bytes a message", "messages an entry", "columns")] == [
        321,
        77,
        5,
    ]
    assert told["costs"][OF_A_TOPIC]["from"] == "measured on this machine"


def test_too_few_messages_of_a_topic_leave_the_costs_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = TopicSample(10, 321.0, 77.0, None, "JSON", 12)
    monkeypatch.setattr("pyspark_pulsar.tools.sizing.own_topic.sample_topic", lambda _: sample)
    told = _json(
        "--topics", "3", "--messages-a-day", "1M", "--topic", "t", "--service-url", "pulsar://h.invalid:1"
    )
    assert OF_A_TOPIC not in told["costs"]
    assert told["given"]["bytes a message"]["value"] == 321


def test_a_calibration_replaces_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pyspark_pulsar.tools.sizing.calibration.measure_costs", lambda _: {"decode.AVRO.entry": 1e-6}
    )
    told = _json(*LOAD, "--calibrate")
    assert told["costs"]["decode.AVRO.entry"]["value"] == 1e-6
    assert told["costs"]["decode.AVRO.entry"]["from"] == "measured on this machine"
    assert "times" in str(told["costs"]["spark.task"]["from"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "--topics"),
        (("--topics", "3"), "--messages-a-day"),
        (("--topics", "3", "--messages-a-day", "1M"), "--message-bytes"),
        ((*LOAD, "--bytes-a-day", "3T"), "are both set; remove one of them"),
        ((*LOAD, "--days", "many"), "expected a number such as"),
        ((*LOAD, "--days", "5kk"), "expected a number such as"),
        ((*LOAD, "--topic", "orders"), "--service-url"),
    ],
)
def test_a_wrong_call(arguments: tuple[str, ...], text: str) -> None:
    result = _size(*arguments)
    assert result.exit_code == 2
    assert text in result.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((*LOAD, "--peak", "0.5"), "--peak: expected a number from 1"),
        (
            (*LOAD, "--in-columns", "0.8", "--in-object-storage", "0.8"),
            "--in-object-storage and --in-columns",
        ),
        ((*LOAD, "--trigger-seconds", "0.01"), "--trigger-seconds: expected more than"),
        ((*LOAD, "--days", "3650", "--catch-up-hours", "1"), "--split-bytes"),
    ],
)
def test_impossible_arguments_are_refused_by_the_names_of_flags(
    arguments: tuple[str, ...], text: str
) -> None:
    result = _size(*arguments)
    assert isinstance(result.exception, OptionError)
    assert text in str(result.exception)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1536, "B", "1.5 KiB"),
        (3 * 2**30, "B/s", "3.0 GiB/s"),
        (7200, "s", "2.0 h"),
        (0.25, "s", "250 ms"),
        (1.7e-6, "core*s/message", "1.7 µs/message"),
        (2.2, "core*s", "2.2 core·s"),
        (1, "executor", "1 executor"),
        (3, "executor", "3 executors"),
        (50_000, "entry/ledger", "50,000 entries/ledger"),
        (500, "B/message", "500 B/message"),
        (2**31, "B/ledger", "2.0 GiB/ledger"),
        (0.5, "1", "0.5"),
        (0, "day", "0 days"),
    ],
)
def test_numbers_for_people(value: float, unit: str, text: str) -> None:
    assert format_quantity(quantity(value, unit)) == text


def test_the_help_shows_required_and_optional_arguments() -> None:
    text = " ".join(_size("--help").output.split())
    assert "Topic partitions. [required]" in text
    assert "one entry. [default: 10]" in text
    assert "--format FORMAT AVRO, JSON, PROTOBUF_NATIVE or BYTES. [default: AVRO]" in text
    assert "for reading the history. [default: 64Mi]" in text
    assert "of a message; or set --bytes-a-day. --entry" in text
