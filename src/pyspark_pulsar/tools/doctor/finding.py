"""Results of checks: subject, state, text and advice. This module does no I/O."""

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
    """The result of one check, which is a row of the table.

    Attributes:
        state: `fault` means that queries fail or will fail. `warning` means that queries run, but with the disadvantage
            that `found` describes. `not asked` means that the check was skipped, because something that the check needs
            is missing.
        advice: The recommended action; empty if no action is needed.

    """

    subject: str
    state: State
    found: str
    advice: str = ""


def check(subject: str, action: Callable[[], str], state: State = FAULT, advice: str = "") -> Finding:
    """Run a check, and return a finding with the text of its result.

    If the check raises an error of this package, the finding describes this error.

    Args:
        subject: The subject of the finding.
        action: A function that runs the check and returns the text of the finding.
        state: The state of a finding for an error.
        advice: The advice of a finding for an error; by default, the advice in the text of the error.

    """
    try:
        return Finding(subject, OK, action())
    except PulsarError as fault:
        return from_error(subject, fault, state, advice)


def from_error(subject: str, fault: PulsarError, state: State = FAULT, advice: str = "") -> Finding:
    """Return a finding for an error of this package. The advice is the text after the last semicolon of the error."""
    text, semicolon, advised = str(fault).rpartition("; ")
    if not semicolon:
        text, advised = advised, ""
    return Finding(subject, state, text, advice or advised)


def count_of(number: int, word: str) -> str:
    """Return a number and its noun, in the singular or plural."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
