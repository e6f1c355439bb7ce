"""Warnings in processes that Spark starts, in which nobody configures logging.

Python then prints the bare text of a warning to standard error, where it stands among Spark's own lines without a time
or a level.
"""

from __future__ import annotations

import logging
from typing import Final

PROGRESS_LOG: Final = "pyspark_pulsar.progress"
"""The logger of what is worth a line now and then though nothing is wrong."""

_FORMAT = "%(asctime)s %(level)s %(name)s: %(message)s"
_TIME = "%y/%m/%d %H:%M:%S"


class _SparksLevel(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.level = "WARN" if record.levelno == logging.WARNING else record.levelname
        return True


def show_warnings() -> None:
    """Print warnings of this package, and progress, as Spark's log does: time, level, name. Called where the work of
    a worker or a stream's driver process begins; does nothing where logging is configured."""
    log = logging.getLogger("pyspark_pulsar")
    if log.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.addFilter(_SparksLevel())
    handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
    log.addHandler(handler)
    logging.getLogger(PROGRESS_LOG).setLevel(logging.INFO)
