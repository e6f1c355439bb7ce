"""The log of a server: what `bin/pulsar` prints, one file per start, the one before it kept."""

import re
import time
from pathlib import Path

_COMPLAINT = re.compile(r"\b(ERROR|FATAL)\b|^Caused by: |^Error: |^Error occurred ")
_NO_COMPLAINT = "this is okay"
_COMPLAINTS = 8
_LAST_LINES = 15
_LINE_WIDTH = 300
_REGISTRATION_LOST = b"ResourceLockImpl - Lock on resource /ledgers/available/"
_MANY_LOSSES = 20
_LOSS_SECONDS = 0.5


def rotate_log(log: Path) -> None:
    """Move the log of the last start to `<name>.1`, over the one that is there."""
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))


def registers_endlessly(log: Path) -> bool:
    """Whether the server takes its bookie's registration for lost, again and again; takes half a second if so.

    It does so now and then when it starts on the data of a server that was killed (Pulsar 4.0.8): the registration of
    that one is there still. It is deleted and made anew; the news of the deletion comes after that, and is taken for a
    loss of the new one, which is deleted and made anew (`ResourceLockImpl` compares descriptions of bookies that are
    never equal). Such a server serves, but it takes most of a core and writes a megabyte a second to its log.
    """
    losses = _registrations_lost(log)
    if losses < _MANY_LOSSES:
        return False
    time.sleep(_LOSS_SECONDS)
    return _registrations_lost(log) > losses


def _registrations_lost(log: Path) -> int:
    with log.open("rb") as lines:
        return sum(_REGISTRATION_LOST in line for line in lines)


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
