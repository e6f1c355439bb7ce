"""Data that is gone before it was read: an error, or with `failOnDataLoss=false` a warning. Driver and executors."""

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
    consequence: str = "the query goes on with what is left",
) -> None:
    """Raises `DataLossError`, or with `fail` false logs `text` and `consequence`: what the query then does.

    `text`: what was expected and what is gone; the full stop may be left out. `advice`: what the user can do, told with
    the error only.
    """
    sentence = text if text.endswith("?") else f"{text}."
    if fail:
        raise DataLossError(f"{sentence} {advice}" if advice else text) from None
    _log.warning("%s failOnDataLoss=false: %s.", sentence, consequence)


@contextmanager
def loss_reported(*, fail: bool) -> Iterator[None]:
    """What is done in it ends where it meets a `DataLossError`, which is raised or, with `fail` false, logged."""
    try:
        yield
    except DataLossError as loss:
        report_loss(str(loss), fail=fail)
