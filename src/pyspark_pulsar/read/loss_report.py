"""Reports of data that was removed before it was read: an error, or a warning with `failOnDataLoss=false`.

The functions are used on the driver and on executors.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark_pulsar.errors import DataLossError

_log: Final = logging.getLogger(__name__)


def report_loss(
    text: str,
    advice: str = "",
    *,
    fail: bool,
    consequence: str = "the query continues with the remaining messages",
) -> None:
    """Raise `DataLossError`, or log a warning if `fail` is false.

    Args:
        text: What was expected and what was removed. The text may end without a full stop.
        advice: What the user can do. Only the error contains the advice.
        fail: Whether to raise the error.
        consequence: What the query does next. Only the warning contains the consequence.

    """
    sentence = text if text.endswith("?") else f"{text}."
    if fail:
        raise DataLossError(f"{sentence} {advice}" if advice else text) from None
    _log.warning("%s failOnDataLoss=false: %s.", sentence, consequence)


@contextmanager
def loss_reported(*, fail: bool) -> Iterator[None]:
    """End the block at a `DataLossError`. Raise the error again, or log it if `fail` is false."""
    try:
        yield
    except DataLossError as loss:
        report_loss(str(loss), fail=fail)
