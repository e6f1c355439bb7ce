"""Text as Java's properties have it: one line, whatever it holds."""

from __future__ import annotations

import pytest

from pyspark_pulsar.java_properties import escaped, properties_text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain = text, été", "plain = text, été"),
        ("C:\\temp", "C:\\\\temp"),
        ("a\nb\tc", "a\\u000ab\\u0009c"),
        ("\u202e", "\\u202e"),
        ("\U000e0001", "\\udb40\\udc01"),
        ("\ud800", "\\ud800"),
    ],
)
def test_unprintable_characters_are_escaped(text: str, line: str) -> None:
    assert escaped(text) == line


def test_a_setting_is_a_line() -> None:
    assert properties_text({"spark.a": "1", "spark.b": "x\ny"}) == "spark.a 1\nspark.b x\\u000ay\n"
