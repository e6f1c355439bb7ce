"""The log of a server, which is the output of `bin/pulsar`. Each start writes a new file. The previous file is kept."""

import re
import time
from pathlib import Path

_ERROR_LINE = re.compile(r"\b(ERROR|FATAL)\b|^Caused by: |^Error: |^Error occurred ")
_NO_ERROR = "this is okay"
_ERROR_LINES = 8
_LAST_LINES = 15
_LINE_WIDTH = 300
_REGISTRATION_LOST = b"ResourceLockImpl - Lock on resource /ledgers/available/"
_MANY_LOSSES = 20
_LOSS_SECONDS = 0.5


def rotate_log(log: Path) -> None:
    """Rename the log of the last start to `<name>.1`. An existing file with this name is replaced."""
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))


def registers_endlessly(log: Path) -> bool:
    """Return whether the server endlessly reports that the registration of its bookie is lost.

    If the log has many such reports, this call waits half a second for further reports.

    This endless registration sometimes occurs when a server starts on the data of a killed server (Pulsar 4.0.8). The
    registration of the killed server still exists. The new server deletes that registration and registers its bookie.
    Then the notification of the deletion arrives, and the server treats the notification as a loss of the new
    registration. So the server deletes the new registration and registers again. The reason is that `ResourceLockImpl`
    compares descriptions of bookies that are never equal. Such a server works, but uses most of a core, and logs a
    megabyte a second.
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
    """Return earlier lines of the log that name errors, followed by the last lines of the log, for an error message.

    The earlier lines are needed, because a server that fails first logs the reason, and then many lines of its
    shutdown.
    """
    try:
        lines = [line[:_LINE_WIDTH] for line in log.read_text("utf-8", "replace").splitlines()]
    except FileNotFoundError:
        return "(no log)"
    head, tail = lines[:-_LAST_LINES], lines[-_LAST_LINES:]
    errors = [line for line in head if _ERROR_LINE.search(line) and _NO_ERROR not in line]
    return "\n".join([*errors[-_ERROR_LINES:], *(["..."] if errors else []), *tail])
