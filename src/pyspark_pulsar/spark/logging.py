"""Handlers for the log records of this package.

One handler makes the text of records printable. If logging is not configured, the other handler prints records in
Spark's format.

In processes that Spark starts, nothing configures logging. Without the handlers, Python would print only the text of a
warning between Spark's lines, without a time or a level.
"""

from __future__ import annotations

import logging
from typing import Final

from pyspark_pulsar.errors import printable

PACKAGE: Final = "pyspark_pulsar"
PROGRESS_LOG: Final = "pyspark_pulsar.progress"
"""The name of the logger for progress. This logger writes occasional lines that report no problem."""

_SILENT: Final = logging.CRITICAL + 1
_LEVELS: Final = {
    "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR, "OFF": _SILENT,
}  # fmt: skip
_session_levels: str | None = None

_FORMAT = "%(asctime)s %(level)s %(name)s: %(message)s"
_TIME = "%y/%m/%d %H:%M:%S"


class _SparksLevel(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.level = "WARN" if record.levelno == logging.WARNING else record.levelname
        return True


class PrintableRecords(logging.Handler):
    """A handler that makes records `printable` for later handlers of the user's program, and prints nothing itself.

    The handler is attached to the package's logger, so it runs before handlers of the root logger.
    """

    def handle(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = printable(record.getMessage()), None
        last = logging.lastResort
        # Python uses `lastResort` only if no handler exists. This handler exists, so it must call `lastResort` itself.
        if last is not None and record.levelno >= last.level and not _is_configured(record.name):
            last.handle(record)
        return True


def _is_configured(name: str) -> bool:
    """Return whether the logger has a handler that shows records."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(not isinstance(handler, PrintableRecords) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def show_warnings() -> None:
    """Print warnings and progress of this package in Spark's format, with time, level and name.

    Workers, and Python processes that the jar starts, call this function when they start. If logging is configured, the
    function does nothing.
    """
    log = logging.getLogger(PACKAGE)
    if _is_configured(PACKAGE):
        return
    handler = logging.StreamHandler()
    handler.addFilter(_SparksLevel())
    handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
    log.addHandler(handler)
    if _session_levels is None:
        logging.getLogger(PROGRESS_LOG).setLevel(logging.INFO)


def session_levels() -> str | None:
    """Return the log levels of the session from the JVM's last message; None if the JVM has sent no levels."""
    return _session_levels


def follow_levels(levels: str | None) -> None:
    """Use the log levels of the session.

    Args:
        levels: The levels of this package and of the progress of streams, such as `WARN,INFO`, in the form of the jar's
            `LogLevels`. None changes nothing.

    """
    global _session_levels  # noqa: PLW0603 -- a fact about the process
    if levels is None or levels == _session_levels:
        return
    _session_levels = levels
    for name, level in zip((PACKAGE, PROGRESS_LOG), levels.split(","), strict=True):
        logging.getLogger(name).setLevel(_LEVELS[level])
