"""Any fault of tiering a topic, or of the upkeep of its table, as an error of that topic alone.

Libraries raise errors of their own for values, full disks and catalogs that nobody has thought of. Such an error must
not end the rounds of other topics.
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
    """Return the error itself if it is ours, otherwise a `TieringFailed` that names the error in one line.

    Args:
        where: The topic, or the range of a topic partition. It begins the text.
        fault: The error. Its traceback is logged at level debug, or as a warning where the environment asks for it.
        settings: Settings of the catalog or its storage, whose secrets the text leaves out.

    """
    if isinstance(fault, PulsarError):
        return fault
    level = logging.WARNING if keeps_tracebacks() else logging.DEBUG
    _log.log(level, "tiering or upkeep failed: %s", where, exc_info=fault)
    reason = one_line(fault, secret_values(settings)) or "no reason given"
    return TieringFailed(
        f"{where}: expected tiering or upkeep to succeed, got {type(fault).__name__}: {reason}; nothing that was not "
        f"committed before is in the table, and the next run tries again. If the error stays, set the environment "
        f"variable {KEEPS_TRACEBACKS}=1 to see where it comes from, and report it"
    )


def catalog_settings(options: ReadOptions) -> dict[str, str]:
    """Return the settings of the catalog, secrets included."""
    return {**dict(options.tier_catalog), **dict(options.tier_catalog_secrets)}
