"""What this package logs: text that a terminal prints as it stands; and in processes that Spark starts, in which nobody
configures logging, lines like Spark's own.

Python there prints the bare text of a warning to standard error, where it stands among Spark's lines without a time or
a level.
"""

from __future__ import annotations

import logging
from typing import Final

from pyspark_pulsar.errors import printable

PACKAGE: Final = "pyspark_pulsar"
PROGRESS_LOG: Final = "pyspark_pulsar.progress"
"""The logger of what is worth a line now and then though nothing is wrong."""

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
    """Makes records `printable` for the handlers behind it, those of the user's program; prints nothing itself. On the
    package's logger it comes before all that are set up for a whole program."""

    def handle(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = printable(record.getMessage()), None
        last = logging.lastResort
        # As Python does where no handler is; this one would count as one.
        if last is not None and record.levelno >= last.level and not _is_configured(record.name):
            last.handle(record)
        return True


def _is_configured(name: str) -> bool:
    """Whether the logger has a handler that shows what it is given."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(not isinstance(handler, PrintableRecords) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def show_warnings() -> None:
    """Print warnings of this package, and progress, as Spark's log does: time, level, name. Called where the work of
    a worker or a stream's driver process begins; does nothing where logging is configured."""
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
    """Return the levels of the session's log as the JVM last sent them; None where no JVM sends them."""
    return _session_levels


def follow_levels(levels: str | None) -> None:
    """Log as the session does.

    Args:
        levels: The levels of this package and of the progress of streams, such as `WARN,INFO`; as the jar's
            `LogLevels` writes them. None changes nothing.

    """
    global _session_levels  # noqa: PLW0603 -- a fact about the process
    if levels is None or levels == _session_levels:
        return
    _session_levels = levels
    for name, level in zip((PACKAGE, PROGRESS_LOG), levels.split(","), strict=True):
        logging.getLogger(name).setLevel(_LEVELS[level])
