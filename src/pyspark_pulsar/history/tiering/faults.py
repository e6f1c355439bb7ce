"""Conversion of any error during tiering or upkeep to an error that names the topic.

Libraries raise unexpected errors, for example for an invalid value, a full disk or an unavailable catalog. Such an
error must not end the rounds of other topics.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.errors import PulsarError, TieringFailed
from pyspark_pulsar.history.columnar.redaction import one_line, secret_values
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.spark.tracebacks import KEEPS_TRACEBACKS, keeps_tracebacks

_log: Final = logging.getLogger(__name__)


def topic_fault(where: str, fault: Exception, settings: Mapping[str, str]) -> PulsarError:
    """Return `fault` if it is a `PulsarError`. Otherwise return a `TieringFailed` with the text of `fault` in one line.

    Args:
        where: The topic, or the range of a topic partition. The text of the `TieringFailed` begins with `where`.
        fault: The error. The traceback of the error is logged at level debug, or as a warning if the environment
            requests tracebacks.
        settings: The settings of the catalog or its storage. Secrets in the settings are removed from the text.

    """
    if isinstance(fault, PulsarError):
        return fault
    level = logging.WARNING if keeps_tracebacks() else logging.DEBUG
    _log.log(level, "Tiering or upkeep failed: %s", where, exc_info=fault)
    reason = one_line(fault, secret_values(settings)) or "no reason given"
    return TieringFailed(
        f"{where}: expected tiering or upkeep to succeed, got {type(fault).__name__}: {reason}. The table contains "
        f"only earlier commits, and the next run tries again; if the error persists, set the environment variable "
        f"{KEEPS_TRACEBACKS}=1 to log its traceback, and report the error"
    )


def catalog_settings(options: ReadOptions) -> dict[str, str]:
    """Return the settings of the catalog, including secrets."""
    return {**dict(options.tier_catalog), **dict(options.tier_catalog_secrets)}
