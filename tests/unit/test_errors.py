"""Errors as text: nothing in a name reaches a terminal raw."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

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


def leading_text(node: ast.expr) -> str:
    """Return the beginning of the text that an expression makes."""
    while not isinstance(node, ast.Constant):
        if isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]
        elif isinstance(node, ast.BinOp):
            node = node.left
        else:
            return ""
    return node.value if isinstance(node.value, str) else ""


def test_an_error_names_the_fault_first() -> None:
    kinds = {kind.__name__ for kind in _KINDS}
    faults = [
        f"{path.name}:{call.lineno}"
        for path in Path(errors.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kinds
        if call.args and leading_text(call.args[0]).startswith("expected")
    ]
    assert not faults
