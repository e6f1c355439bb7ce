"""The log of a server: what `bin/pulsar` prints, one file per start, the one before it kept."""

import re
from pathlib import Path

_COMPLAINT = re.compile(r"\b(ERROR|FATAL)\b|^Caused by: |^Error: |^Error occurred ")
_NO_COMPLAINT = "this is okay"
_COMPLAINTS = 8
_LAST_LINES = 15
_LINE_WIDTH = 300


def rotate_log(log: Path) -> None:
    """Move the log of the last start to `<name>.1`, over the one that is there."""
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))


def end_of_log(log: Path) -> str:
    """For an error message: the last lines, and before them the lines that name errors further up.

    A server that fails logs its orderly shutdown after the reason.
    """
    try:
        lines = [line[:_LINE_WIDTH] for line in log.read_text("utf-8", "replace").splitlines()]
    except FileNotFoundError:
        return "(no log)"
    head, tail = lines[:-_LAST_LINES], lines[-_LAST_LINES:]
    complaints = [line for line in head if _COMPLAINT.search(line) and _NO_COMPLAINT not in line]
    return "\n".join([*complaints[-_COMPLAINTS:], *(["..."] if complaints else []), *tail])
