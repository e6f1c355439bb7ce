"""Errors as text: nothing in a name reaches a terminal raw."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, strategies as st

from pyspark_pulsar import errors
from pyspark_pulsar.errors import PulsarError, SchemaError, StandaloneFailed, printable

_KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PulsarError)]


@pytest.mark.parametrize("kind", _KINDS)
def test_every_error_escapes_control_characters(kind: type[PulsarError]) -> None:
    fault = kind("topic x\x1b]0;title\x07\u202e\x9b2J\r ends")
    assert str(fault) == r"topic x\x1b]0;title\x07\u202e\x9b2J\r ends"
    assert str(kind(f"reading: {fault}")) == f"reading: {fault}"
    assert str(pickle.loads(pickle.dumps(fault))) == str(fault)


def test_only_our_own_line_ends_are_kept() -> None:
    assert (
        str(SchemaError("topics differ:\n  - a\n  - b\nError: c"))
        == "topics differ:\n  - a\n  - b\\nError: c"
    )
    assert str(StandaloneFailed("its log:\nline\x1b[31m")) == "its log:\nline\\x1b[31m"


@given(st.text())
def test_printable_text(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    assert (shown == text) is text.isprintable()
