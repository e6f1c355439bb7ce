"""What was looked at, what was found, and what to do. Pure."""

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
    """One line of the table."""

    subject: str
    state: State
    """`fault`: queries fail, or will. `warning`: they run, and less well than they could. `not asked`: something before
    it is missing."""
    found: str
    advice: str = ""
    """What to do; empty where nothing is."""


def look(subject: str, action: Callable[[], str], state: State = FAULT, advice: str = "") -> Finding:
    """What `action` finds; of what it raises on purpose, a finding in `state`, with `advice` or the error's own."""
    try:
        return Finding(subject, OK, action())
    except PulsarError as fault:
        return of_error(subject, fault, state, advice)


def of_error(subject: str, fault: PulsarError, state: State = FAULT, advice: str = "") -> Finding:
    """Errors of this package say what to do behind their last semicolon."""
    text, semicolon, told = str(fault).rpartition("; ")
    if not semicolon:
        text, told = told, ""
    return Finding(subject, state, text, advice or told)


def counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
