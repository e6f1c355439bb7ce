"""Reports of data that was removed before it was read: an error, or a warning with `failOnDataLoss=false`.

They are used on the driver and on executors.
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
        text: What was expected and what is gone. The full stop may be left out.
        advice: What the user can do. Only the error contains it.
        fail: Whether to raise.
        consequence: What the query does next. Only the warning contains it.

    """
    sentence = text if text.endswith("?") else f"{text}."
    if fail:
        raise DataLossError(f"{sentence} {advice}" if advice else text) from None
    _log.warning("%s failOnDataLoss=false: %s.", sentence, consequence)


@contextmanager
def loss_reported(*, fail: bool) -> Iterator[None]:
    """End the block at a `DataLossError`, and raise the error, or log it if `fail` is false."""
    try:
        yield
    except DataLossError as loss:
        report_loss(str(loss), fail=fail)
