"""Whether a ledger was deleted while the broker was asked for it. Executor only.

A broker passes over a ledger that is gone as it passes over entries that consumers do not see (markers, what aborted
transactions wrote), and so an end that nothing came up to needs a second look.
"""

from __future__ import annotations

import logging
from typing import Final

from pyspark_pulsar.client.admin import AdminClient
from pyspark_pulsar.errors import DataLossError, ProtocolError
from pyspark_pulsar.options import ReadOptions
from pyspark_pulsar.read.locations.contiguous import entry_range
from pyspark_pulsar.read.split import FromBroker, FromCompactedLedger, Piece
from pyspark_pulsar.topic import TopicPartition

_log: Final = logging.getLogger(__name__)


def check_still_there(options: ReadOptions, partition: TopicPartition, rest: Piece) -> None:
    """Call after the broker gave all that it has of a piece of a closed ledger; `rest` is what did not come.

    Raises `DataLossError` if the ledger is gone (logged instead where `failOnDataLoss` is false), and the errors of
    `AdminClient`.
    """
    location = rest.location
    if isinstance(location, FromBroker | FromCompactedLedger) or options.admin_url is None:
        return
    first, last = entry_range(rest, location.ledger)
    number = location.ledger.ledger
    if first > last or number in _ledgers(options, partition):
        return
    text = (
        f"{partition}: expected entries {first} to {last} of ledger {number} ({last - first + 1} entries), but "
        f"retention or truncation has removed the ledger since the read was planned"
    )
    if options.fail_on_data_loss:
        raise DataLossError(
            f"{text}. Set retention longer than queries run. To go on with what is left, set failOnDataLoss=false"
        )
    _log.warning("%s. failOnDataLoss=false: the query goes on with what is left.", text)


def _ledgers(options: ReadOptions, partition: TopicPartition) -> set[int]:
    with AdminClient(options) as admin:
        info = admin.internal_info(partition)
    try:
        return {int(each["ledgerId"]) for each in info["ledgers"]}
    except (KeyError, TypeError, ValueError):
        raise ProtocolError(
            f"reading the ledgers of {partition}: expected a JSON object with ledgers, got another"
        ) from None
