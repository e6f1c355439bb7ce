"""Results of checks: subject, state, text and advice. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from pyspark_pulsar.errors import PulsarError

State = Literal["ok", "warning", "fault", "not asked"]

OK: Final = "ok"
WARNING: Final = "warning"
FAULT: Final = "fault"
NOT_ASKED: Final = "not asked"


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of the table.

    Attributes:
        state: `fault`: queries fail, or will. `warning`: queries run, but worse than they could. `not asked`: the check
            was skipped, because something that it needs is missing.
        advice: What to do; empty if nothing is to be done.

    """

    subject: str
    state: State
    found: str
    advice: str = ""


def check(subject: str, action: Callable[[], str], state: State = FAULT, advice: str = "") -> Finding:
    """Return the result of `action`, or a finding for its error.

    Args:
        subject: The subject of the finding.
        action: Returns what was found.
        state: The state for an error.
        advice: The advice for an error; by default, the advice of the error itself.

    """
    try:
        return Finding(subject, OK, action())
    except PulsarError as fault:
        return from_error(subject, fault, state, advice)


def from_error(subject: str, fault: PulsarError, state: State = FAULT, advice: str = "") -> Finding:
    """Return a finding for an error of this package, whose text ends with a semicolon and the advice."""
    text, semicolon, advised = str(fault).rpartition("; ")
    if not semicolon:
        text, advised = advised, ""
    return Finding(subject, state, text, advice or advised)


def count_of(number: int, word: str) -> str:
    """Return a number and its noun, in the singular or plural."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
