"""Warnings in processes that Spark starts, in which nobody configures logging.

Python then prints the bare text of a warning to standard error, where it stands among Spark's own lines without a time
or a level.
"""

from __future__ import annotations

import logging

_FORMAT = "%(asctime)s WARN %(name)s: %(message)s"
_TIME = "%y/%m/%d %H:%M:%S"


def show_warnings() -> None:
    """Print warnings of this package as Spark's log does: time, level, name. Called where the work of a worker or a
    stream's driver process begins; does nothing where logging is configured."""
    log = logging.getLogger("pyspark_pulsar")
    if log.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
    log.addHandler(handler)
